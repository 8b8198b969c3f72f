import Foundation
import MatrixProtocol
import MatrixSDK

/// The read marker, receipts and relations.
extension MXKRoomDataSource {
    // MARK: The read marker

    /// Places the read marker where the account data has it.
    func readReadMarker() {
        let place = room?.summary.fullyReadEventId.flatMap { shownEvent(for: $0) }
        guard place != readMarkerEventId else { return }
        let old = readMarkerEventId
        readMarkerEventId = place
        for case let eventId? in [old, place] { touchBubble(of: eventId) }
    }

    /// Moves the read marker to the latest read event. Call it when the user leaves the room or asks for it.
    public func updateReadMarker() {
        readReadMarker()
        report()
    }

    func readMarkerMoved() {
        if let readMarkerEventId { touchBubble(of: readMarkerEventId) }
        report()
    }

    private func touchBubble(of eventId: String) {
        guard let bubble = bubbleOf[eventId], let index = list.index(of: bubble) else { return }
        (bubble as? MXKRoomBubbleCellData)?.touch()
        list.update(bubble)
        refreshFlags(around: index)
    }

    /// Moves the read marker and receipts of an event that is no longer shown to the one before.
    func moveMarkers(from eventId: String) { moveMarkers(from: eventId, to: shownEvent(for: eventId)) }

    func moveMarkers(from eventId: String, to place: String?) {
        if readMarkerEventId == eventId {
            readMarkerEventId = place
            if let readMarkerEventId { touchBubble(of: readMarkerEventId) }
        }
        if receiptPlaces.values.contains(eventId) { placeReceipts() }
    }

    // MARK: Receipts

    /// Reads the receipts and shows them.
    func refreshReceipts() {
        let (room, current) = (room, generation)
        Task { [weak self] in
            let reading = await RoomReading.read([], receipts: true, in: room)
            guard let self, self.generation == current, !self.isDestroyed else { return }
            self.with(reading) { self.placeReceipts() }
            self.report()
        }
    }

    /// Places the receipts. A receipt of a hidden event appears at the one before, and users have no receipt at their
    /// own messages.
    func placeReceipts() {
        var newest: [String: (receipt: MXReceipt, place: String)] = [:]
        for receipt in receipts where receipt.userId != mxSession?.credentials?.userId {
            guard let place = shownEvent(for: receipt.eventId), let event = event(withEventId: place),
                event.sender != receipt.userId
            else { continue }
            if let other = newest[receipt.userId], other.receipt.ts >= receipt.ts { continue }
            newest[receipt.userId] = (receipt, place)
        }
        let places = newest.mapValues(\.place)
        guard places != receiptPlaces else { return }
        var changed: Set<String> = []
        for user in Set(places.keys).union(receiptPlaces.keys) where places[user] != receiptPlaces[user] {
            for case let place? in [places[user], receiptPlaces[user]] { changed.insert(place) }
        }
        receiptPlaces = places
        let byPlace = Dictionary(grouping: newest.values, by: \.place)
        for place in changed {
            guard let bubble = bubbleOf[place] as? MXKRoomBubbleCellData else { continue }
            let receipts = byPlace[place]?.map(\.receipt).sorted { ($0.ts, $0.userId) < ($1.ts, $1.userId) }
            bubble.readReceipts[place] = receipts
            bubble.touch()
            list.update(bubble)
        }
    }

    // MARK: Relations

    /// Uses the given reading for events while `body` runs, instead of reading again.
    func with(_ reading: RoomReading, _ body: () -> Void) {
        self.reading = reading
        if let receipts = reading.receipts { self.receipts = receipts }
        defer { self.reading = RoomReading() }
        body()
    }

    /// Returns the current version of an event.
    func edited(_ event: MXEvent) -> MXEvent {
        reading.related[event.eventId]?.event ?? room?.edited(event) ?? event
    }

    private func aggregations(of eventId: String) -> MXEventAggregations? {
        reading.related[eventId].map(\.aggregations) ?? room?.aggregations(forEvent: eventId)
    }

    func relationsChanged(of eventId: String) {
        noteReactions(of: eventId)
        if let event = event(withEventId: eventId), bubbleOf[eventId] != nil { update(event) }
    }

    func noteReactions(of eventId: String) {
        guard let bubble = bubbleOf[eventId] as? MXKRoomBubbleCellData else { return }
        let aggregations = aggregations(of: eventId)
        let reactions = aggregations?.reactions?.isEmpty == false ? aggregations : nil
        guard bubble.reactions[eventId] != reactions else { return }
        bubble.reactions[eventId] = reactions
        bubble.touch()
        list.update(bubble)
    }

    /// Updates the thread that an event started, because the thread has changed or the event is new here.
    func noteThread(of eventId: String) {
        guard hidesThreads, let bubble = bubbleOf[eventId] as? MXKRoomBubbleCellData,
            let thread = reading.related[eventId].map(\.thread) ?? readThread(of: eventId),
            bubble.threads[eventId] != thread
        else { return }
        bubble.threads[eventId] = thread
        bubble.touch()
        list.update(bubble)
    }

    private func readThread(of eventId: String) -> MXThreadSummary? {
        guard let room, let event = event(withEventId: eventId) else { return nil }
        return MXThreadSummary(of: event, stored: room.storedMessages(ofThread: eventId))
    }
}

extension MXKRoomDataSource {
    /// Returns whether anything is shown after a bubble.
    public func hasNewer(than bubble: any MXKRoomBubbleCellDataStoring) -> Bool {
        list.index(of: bubble).map { $0 + 1 < list.count } ?? false
    }
}

extension MXKRoomDataSource {
    /// The event at which the timeline starts; `nil` if it is live.
    public var initialEvent: String? { initialEventId }

    /// The newest event that is shown and that the homeserver has received.
    var newestArrivedEvent: MXEvent? {
        list.cells.reversed().lazy.compactMap { ($0 as? any MXKRoomBubbleCellDataStoring)?.events }
            .flatMap { $0.reversed() }.first { !$0.isLocalEvent }
    }

    /// The newest event, shown or hidden.
    public var newestEvent: String? { newestEventId ?? room?.summary.lastMessageId }

    /// The formatter in use: ``eventFormatter``, or a default one.
    public var eventFormatterInUse: MXKEventFormatter { formatter }
}
