import Foundation
import MatrixProtocol
import MatrixSDK

/// Turns events into bubbles.
extension MXKRoomDataSource {
    // MARK: Session reports

    func received(_ reports: [SessionReport], _ reading: RoomReading) {
        guard !isDestroyed else { return }
        with(reading) { take(reports) }
        report()
    }

    private func take(_ reports: [SessionReport]) {
        var (fromServer, isNew, refreshes) = (0, false, false)
        for report in reports {
            switch report {
            case .notices(let notices):
                for notice in notices where notice.concernedRoom == roomId || notice.concernedRoom == nil {
                    handle(notice, &fromServer, &isNew, &refreshes)
                }
            case .sendingChanged: isNew = true
            case .stateChanged, .failed: break
            }
        }
        if isLive, state == .ready {
            if isNew { addEchoes() }
            if refreshes { placeReceipts() }
        }
        countFromServer(fromServer)
    }

    private func handle(
        _ notice: SessionNotice, _ fromServer: inout Int, _ isNew: inout Bool, _ refreshes: inout Bool
    ) {
        switch notice {
        case .live(let live):
            guard isLive, state == .ready else { return }
            guard concerns(live.event) else { return }
            add(live.event, state: live.state ?? roomState, isOlder: false)
            if let root = live.event.threadId { noteThread(of: root) }
            fromServer += 1
            (isNew, refreshes) = (true, true)
        case .ephemeral(let event): if event.type == "m.receipt" { refreshes = true }
        case .roomAccountData(let event):
            // While the room is on screen, the read marker stays in place.
            if event.type == "m.fully_read", delegate == nil { readReadMarker() }
        case .changed(let event): update(event)
        case .decrypted(_, let events): for live in events { update(live.event) }
        case .relationsChanged(_, let eventId): relationsChanged(of: eventId)
        case .gap: if isLive { flush() }
        case .joined: if state == .failed { didMXSessionStateChange() }
        case .encryption: encryptionChanged()
        case .echoConfirmed: isNew = true
        case .invited, .knocked, .left, .accountData, .presence, .toDevice, .unreadChanged, .summaryChanged,
            .directRoomsChanged, .ignoredUsersChanged:
            break
        }
    }

    /// Starts over because the server has left out events: older and newer events no longer connect.
    private func flush() {
        if threadId != nil { return reload() }
        clear()
        timeline?.resetPagination()
        readReadMarker()
        addEchoes()
    }

    /// Updates the drawn bubbles, because a change of trust may change their shields.
    private func encryptionChanged() {
        guard room?.summary.isEncrypted == true else { return }
        for index in max(list.count - 100, 0)..<list.count {
            let cell = list[index]
            (cell as? MXKRoomBubbleCellData)?.touch()
            list.update(cell)
        }
    }

    // MARK: Adding

    /// Returns whether an event is being added before the existing ones. Bubbles ask because they grow at both ends.
    func isAdding(_ event: MXEvent, before other: MXEvent) -> Bool { isAddingOlder }

    /// Adds an event at one end. A known event is ignored.
    func add(_ event: MXEvent, state roomState: MXRoomState?, isOlder: Bool) {
        let id = event.eventId
        if let transaction = event.transactionId, let echo = echoes[transaction] {
            // The local echo was placed in order of arrival. Now the position is known: at the end, an update is
            // enough.
            let isInPlace = echo == id && !isOlder && newestEventId == id
            isInPlace ? confirmEcho(transaction, event) : remove(eventId: echo)
            echoes[transaction] = nil
        }
        guard !id.isEmpty, bubbleOf[id] == nil, !hidden.contains(id) else { return }
        let event = edited(event)
        isAddingOlder = isOlder
        defer { isAddingOlder = false }
        if !isOlder { newestEventId = id }
        guard let bubble = bubble(taking: event, roomState, isOlder: isOlder) else {
            if isOlder {
                hidden.addOldest(id)
            } else {
                hidden.addNewest(id, after: newestShownEventId)
            }
            hidden.keep(roomState, before: event)
            return
        }
        bubbleOf[id] = bubble
        noteReactions(of: id)
        noteThread(of: id)
        if isOlder { hidden.showedOldest(id) }
    }

    private var newestShownEventId: String? { cellData(at: list.count - 1)?.events.last?.eventId }

    /// Returns whether the event is shown at all.
    private func isShown(_ event: MXEvent) -> Bool {
        guard !hidesThreads || event.threadId == nil else { return false }
        return formatter.isDisplayed(event) && (!filterMessagesWithURL || formatter.isSupportedAttachment(event))
    }

    /// Whether thread messages are left to separate data sources.
    var hidesThreads: Bool { showsThreadsApart && isLive && threadId == nil }

    /// Returns whether an event belongs to the thread; always true without a thread.
    func concerns(_ event: MXEvent) -> Bool {
        threadId == nil || event.threadId == threadId || event.eventId == threadId
    }

    /// Returns the bubble that now shows the event; `nil` if it is hidden.
    private func bubble(taking event: MXEvent, _ state: MXRoomState?, isOlder: Bool) -> (
        any MXKRoomBubbleCellDataStoring
    )? {
        guard isShown(event) else { return nil }
        let type = registeredClass(kMXKRoomBubbleCellDataIdentifier, as: (any MXKRoomBubbleCellDataStoring.Type).self)
        if let neighbour = (isOlder ? list.first : list.last) as? any MXKRoomBubbleCellDataStoring {
            let count = neighbour.events.count
            if neighbour.addEvent(event, andRoomState: state) {
                guard neighbour.events.count > count else { return nil }
                list.update(neighbour)
                return neighbour
            }
        }
        guard let bubble = type.init(event: event, andRoomState: state, andRoomDataSource: self) else { return nil }
        insert(bubble, at: isOlder ? 0 : list.count)
        return bubble
    }

    private func insert(_ bubble: any MXKRoomBubbleCellDataStoring, at index: Int) {
        bubble.showBubbleDateTime = showBubblesDateTime
        bubble.showBubbleReceipts = showBubbleReceipts
        list.insert(bubble, at: index)
        refreshFlags(around: index)
        linkSeries(at: index)
        linkSeries(at: index + 1)
    }

    /// Returns the event itself if it is shown, or else the next older shown event.
    func shownEvent(for eventId: String) -> String? {
        bubbleOf[eventId] != nil ? eventId : hidden.shown(before: eventId)
    }

    // MARK: Flags

    /// Updates the start of a day and the sender information for a bubble and its successor.
    func refreshFlags(around index: Int) {
        for index in index...(index + 1) {
            guard let bubble = cellData(at: index) else { continue }
            let previous = cellData(at: index - 1)
            let beginsDay = bubblesPagination == .perDay && previous.map { !isSameDay($0, bubble) } ?? true
            let isAfterMarker =
                showReadMarker && readMarkerEventId != nil && previous?.events.last?.eventId == readMarkerEventId
            let hidesSender = !beginsDay && !isAfterMarker && previous.map { saysName($0, of: bubble) } ?? false
            guard
                bubble.isPaginationFirstBubble != (beginsDay && bubblesPagination == .perDay)
                    || bubble.shouldHideSenderInformation != hidesSender
            else { continue }
            bubble.isPaginationFirstBubble = beginsDay && bubblesPagination == .perDay
            bubble.shouldHideSenderInformation = hidesSender
            (bubble as? MXKRoomBubbleCellData)?.touch()
            list.update(bubble)
        }
    }

    /// Returns whether a bubble, or one above it, already shows the next bubble's sender.
    private func saysName(
        _ bubble: any MXKRoomBubbleCellDataStoring, of next: any MXKRoomBubbleCellDataStoring
    ) -> Bool {
        next.hasSameSender(asBubbleCellData: bubble) && !bubble.shouldHideSenderName
            && bubble.events.first?.isConversation == next.events.first?.isConversation
    }

    private func isSameDay(_ left: any MXKRoomBubbleCellDataStoring, _ right: any MXKRoomBubbleCellDataStoring) -> Bool
    {
        guard let one = left.events.last?.date, let other = right.date else { return true }
        return formatter.dates.isSameDay(one, other)
    }

    /// Applies the appearance options to all existing bubbles.
    func applyFlags() {
        for case let bubble as any MXKRoomBubbleCellDataStoring in list.cells {
            bubble.showBubbleDateTime = showBubblesDateTime
            bubble.showBubbleReceipts = showBubbleReceipts
            (bubble as? MXKRoomBubbleCellData)?.touch()
            list.update(bubble)
        }
        report()
    }

    // MARK: Changing

    /// Updates an event that was redacted, edited, decrypted or sent.
    func update(_ event: MXEvent) {
        guard let bubble = bubbleOf[event.eventId] else { return reveal(event) }
        let event = edited(event)
        guard let index = list.index(of: bubble) else { return }
        let before = shownEvent(before: event.eventId, in: bubble, at: index)
        let left = isShown(event) ? bubble.updateEvent(event.eventId, with: event) : bubble.removeEvent(event.eventId)
        if !bubble.events.contains(where: { $0.eventId == event.eventId }) {
            hidden.hid(event.eventId, after: before)
            bubbleOf[event.eventId] = nil
            moveMarkers(from: event.eventId)
        }
        settle(bubble, index, left: left)
        if left > 0 { split(bubble) }
    }

    /// Returns the shown event before another shown event.
    private func shownEvent(
        before eventId: String, in bubble: any MXKRoomBubbleCellDataStoring, at index: Int
    ) -> String? {
        let events = bubble.events
        if let position = events.firstIndex(where: { $0.eventId == eventId }), position > 0 {
            return events[position - 1].eventId
        }
        return cellData(at: index - 1)?.events.last?.eventId
    }

    /// Shows a hidden event if it has become visible, for example by decryption. It is placed after the next older
    /// shown event.
    private func reveal(_ event: MXEvent) {
        guard hidden.contains(event.eventId) else { return }
        let event = edited(event)
        guard isShown(event) else { return }
        let anchor = hidden.shown(before: event.eventId)
        let state = hidden.revealed(event.eventId) ?? roomState
        guard let anchor, let bubble = bubbleOf[anchor], let index = list.index(of: bubble) else {
            return rebuild([(event, state)], at: 0)
        }
        rebuild([(event, state)] + followers(of: anchor, in: bubble), at: index + 1)
        settle(bubble, index, left: UInt(bubble.events.count))
        mergeNeighbours(at: index)
    }

    /// Removes and returns the events that follow an event in its bubble.
    private func followers(of eventId: String, in bubble: any MXKRoomBubbleCellDataStoring) -> [(MXEvent, MXRoomState?)]
    {
        let events = bubble.events
        guard let index = events.firstIndex(where: { $0.eventId == eventId }), index + 1 < events.count else {
            return []
        }
        let states = (bubble as? MXKRoomBubbleCellData)?.bubbleComponents.map(\.roomState)
        let removed = bubble.removeEvents(fromEvent: events[index + 1].eventId).removed
        return removed.enumerated().map { ($1, states?[index + 1 + $0] ?? roomState) }
    }

    /// Splits a bubble when a changed event no longer belongs with its neighbours, such as a file. The event and those
    /// after it move to other bubbles.
    private func split(_ bubble: any MXKRoomBubbleCellDataStoring) {
        guard let misfit = (bubble as? MXKRoomBubbleCellDataWithAppendingMode)?.firstMisfit,
            let index = list.index(of: bubble)
        else { return }
        let rest = followers(of: bubble.events[misfit - 1].eventId, in: bubble)
        (bubble as? MXKRoomBubbleCellData)?.touch()
        list.update(bubble)
        rebuild(rest, at: index + 1)
        refreshFlags(around: index)
    }

    /// Distributes events among bubbles from an index on, as if they had arrived one after the other.
    private func rebuild(_ events: [(MXEvent, MXRoomState?)], at index: Int) {
        let type = registeredClass(kMXKRoomBubbleCellDataIdentifier, as: (any MXKRoomBubbleCellDataStoring.Type).self)
        var (index, isFirst) = (index, true)
        for (event, state) in events {
            if !isFirst, let last = cellData(at: index - 1), last.addEvent(event, andRoomState: state) {
                if last.events.last?.eventId == event.eventId { bubbleOf[event.eventId] = last }
                list.update(last)
                continue
            }
            guard let bubble = type.init(event: event, andRoomState: state, andRoomDataSource: self) else { continue }
            insert(bubble, at: index)
            bubbleOf[event.eventId] = bubble
            noteReactions(of: event.eventId)
            noteThread(of: event.eventId)
            index += 1
            isFirst = false
        }
        mergeNeighbours(at: index - 1)
    }

    /// Removes a changed bubble if it is empty, or merges it with neighbours that now belong to it.
    private func settle(_ bubble: any MXKRoomBubbleCellDataStoring, _ index: Int, left: UInt) {
        guard left == 0 else {
            list.update(bubble)
            refreshFlags(around: index)
            return
        }
        leaveSeries(bubble)
        list.remove(bubble)
        mergeNeighbours(at: index - 1)
        refreshFlags(around: max(index - 1, 0))
        linkSeries(at: index)
    }

    /// Merges a bubble with the next one if they belong together.
    private func mergeNeighbours(at index: Int) {
        guard let left = cellData(at: index), let right = cellData(at: index + 1), left.merge(withBubbleCellData: right)
        else { return }
        for event in right.events { bubbleOf[event.eventId] = left }
        leaveSeries(right)
        list.remove(right)
        list.update(left)
        refreshFlags(around: index)
    }

    func remove(eventId: String) {
        guard let bubble = bubbleOf.removeValue(forKey: eventId), let index = list.index(of: bubble) else { return }
        let before = shownEvent(before: eventId, in: bubble, at: index)
        hidden.removed(eventId, after: before)
        let left = bubble.removeEvent(eventId)
        moveMarkers(from: eventId, to: before)
        settle(bubble, index, left: left)
    }

    // MARK: Own messages

    /// Updates the local echoes of pending and failed messages.
    func addEchoes() {
        guard isLive, let room else { return }
        let outgoing = room.outgoingMessages.filter(concerns)
        let transactions = Set(outgoing.compactMap(\.transactionId))
        for (transaction, eventId) in echoes where !transactions.contains(transaction) {
            // The message has returned with the server's id, or was discarded.
            echoes[transaction] = nil
            if eventId.hasPrefix(MXEvent.localEventIdPrefix) { remove(eventId: eventId) }
        }
        for event in outgoing {
            guard let transaction = event.transactionId else { continue }
            if echoes[transaction] == nil {
                guard bubbleOf[event.eventId] == nil, !hidden.contains(event.eventId) else { continue }
                add(event, state: roomState, isOlder: false)
                echoes[transaction] = event.eventId
            } else {
                confirmEcho(transaction, event)
            }
        }
        for transaction in uploads.keys { showUpload(of: transaction) }
    }

    /// Updates a local echo whose state or id has changed.
    private func confirmEcho(_ transaction: String, _ event: MXEvent) {
        guard let shown = echoes[transaction] else { return }
        guard let bubble = bubbleOf[shown], let index = list.index(of: bubble) else {
            echoes[transaction] = event.eventId
            return
        }
        if shown != event.eventId {
            bubbleOf[shown] = nil
            bubbleOf[event.eventId] = bubble
            hidden.renamed(shown, to: event.eventId)
            echoes[transaction] = event.eventId
            if newestEventId == shown { newestEventId = event.eventId }
        } else if bubble.events.first(where: { $0.eventId == shown })?.sentState == event.sentState {
            return
        }
        settle(bubble, index, left: bubble.updateEvent(shown, with: event))
    }
}
