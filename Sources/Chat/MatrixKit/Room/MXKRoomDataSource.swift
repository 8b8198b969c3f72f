public import Foundation
public import MatrixProtocol
public import MatrixSDK

/// Brings the messages of a room as bubbles: live, or around an event.
///
/// Live, it has what happens from now on and pages backwards; messages of the user are there at once, and stay when they fail.
/// Around an event it pages both ways, and nothing comes by itself. The order is that in which the homeserver sends them.
@MainActor
open class MXKRoomDataSource: MXKDataSource {
    // MARK: What it is about

    /// The room.
    public let roomId: String
    /// Whether new events come by themselves.
    public let isLive: Bool
    /// Always false: rooms are shown to those who are in them.
    public var isPeeking: Bool { false }
    let initialEventId: String?
    /// The event that the thread began with, if it is about a thread; nil for a room.
    public let threadId: String?

    /// The room; nil as long as the session does not know it.
    public var room: MXRoom? { mxSession?.room(withRoomId: roomId) }
    /// The room's state now.
    public var roomState: MXRoomState? { room?.state }
    /// The timeline of a live room. It pages for this data source alone.
    public var timeline: MXEventTimeline? {
        guard isLive, threadId == nil, let room else { return nil }
        if let ownTimeline, ownTimeline.room === room { return ownTimeline.timeline }
        let timeline = room.makeTimeline()
        ownTimeline = (room, timeline)
        return timeline
    }
    /// Left and joined again, a room is another object.
    private var ownTimeline: (room: MXRoom, timeline: MXEventTimeline)?
    /// Events that came since somebody looked: see ``resetServerSyncEventCount()``.
    public internal(set) var serverSyncEventCount = 0
    /// What is written and not sent yet. For the application, which keeps it.
    public var partialTextMessage: String?

    // MARK: How it looks

    /// What puts events into words. A new one puts all of them into words again.
    public var eventFormatter: MXKEventFormatter? {
        didSet { invalidateBubblesCellDataCache() }
    }
    /// Whether bubbles show the time. Usually false.
    public var showBubblesDateTime = false { didSet { if showBubblesDateTime != oldValue { applyFlags() } } }
    /// Whether a line shows what was read. Usually true.
    public var showReadMarker = true { didSet { if showReadMarker != oldValue { readMarkerMoved() } } }
    /// Whether bubbles show who has read them. Usually true.
    public var showBubbleReceipts = true { didSet { if showBubbleReceipts != oldValue { applyFlags() } } }
    /// Whether bubbles show reactions. Usually true.
    public var showReactions = true { didSet { if showReactions != oldValue { applyFlags() } } }
    /// Whether typing is shown. Usually true.
    public var showTypingNotifications = true
    /// Where bubbles are cut. Usually between days.
    public var bubblesPagination = MXKRoomDataSourceBubblesPagination.perDay {
        didSet { if bubblesPagination != oldValue { reload() } }
    }
    /// Above this number a data source that nobody shows forgets its bubbles. Usually 30.
    public var maxBackgroundCachedBubblesCount: UInt = 30
    /// Events that are asked for around the one that the data source begins at. Usually 30.
    public var paginationLimitAroundInitialEvent: UInt = 30
    /// Whether messages of threads are left to data sources of their own, and the events that threads began with say how
    /// many there are. Usually true; holds for live rooms.
    public var showsThreadsApart = true { didSet { if showsThreadsApart != oldValue { reload() } } }
    /// Whether only events with files are shown. Usually false.
    public var filterMessagesWithURL = false { didSet { if filterMessagesWithURL != oldValue { reload() } } }

    // MARK: State

    var list = CellList<MXKCellData>()
    /// The bubble that shows an event.
    var bubbleOf: [String: any MXKRoomBubbleCellDataStoring] = [:]
    /// Events that are known and not shown.
    var hidden = HiddenEvents()
    /// The newest event of all, shown or not.
    var newestEventId: String?
    /// What stands for a message of the user until it comes back: its event, by transaction.
    var echoes: [String: String] = [:]
    /// How far files of the user are sent, by transaction: as ``MXKRoomBubbleCellData/uploadProgress``.
    var uploads: [String: CGFloat] = [:]
    /// While an event is added: whether it is older than all others.
    var isAddingOlder = false
    /// Where the line is; that event is shown.
    public internal(set) var readMarkerEventId: String?
    /// Of series that have changed since the last report: a bubble of each, or several.
    var changedSeries: [any MXKRoomBubbleCellDataStoring] = []
    /// How far users have read, as it was last read from the store.
    var receipts: [MXReceipt] = []
    /// Who has read up to where, by user: the event that shows it.
    var receiptPlaces: [String: String] = [:]
    /// What was read of the events that are being taken in.
    var reading = RoomReading()

    var observer: UUID?
    var stateListener: Any?
    var inbox: RoomInbox?
    var context: MXContextTimeline?
    var thread: MXThreadTimeline?
    /// Changes when everything begins anew: what is under way then counts no more.
    var generation = 0
    let pages = PageTurns()
    var changesContinuations: [UUID: AsyncStream<MXKCellChanges?>.Continuation] = [:]
    private var fallbackFormatter: MXKEventFormatter?

    /// What puts events into words: the one that is set, or a usual one.
    var formatter: MXKEventFormatter {
        if let eventFormatter { return eventFormatter }
        if let fallbackFormatter { return fallbackFormatter }
        let formatter = MXKEventFormatter(matrixSession: mxSession)
        fallbackFormatter = formatter
        return formatter
    }

    // MARK: Life

    /// A live data source. It prepares itself: see ``MXKDataSource/state``.
    public convenience init(roomId: String, andMatrixSession mxSession: MXSession) {
        self.init(roomId: roomId, initialEventId: nil, andMatrixSession: mxSession)
    }

    /// A data source around an event; a live one for nil.
    public required init(roomId: String, initialEventId: String?, andMatrixSession mxSession: MXSession) {
        self.roomId = roomId
        (self.initialEventId, threadId) = (initialEventId, nil)
        isLive = initialEventId == nil
        super.init(matrixSession: mxSession)
        begin()
    }

    /// A live data source of a thread: the event that it began with, and what was answered in it.
    public init(roomId: String, threadId: String, andMatrixSession mxSession: MXSession) {
        self.roomId = roomId
        (initialEventId, self.threadId) = (nil, threadId)
        isLive = true
        super.init(matrixSession: mxSession)
        begin()
    }

    private func begin() {
        registerCellDataClass(
            MXKRoomBubbleCellDataWithAppendingMode.self, forCellIdentifier: kMXKRoomBubbleCellDataIdentifier)
        finalizeInitialization()
    }

    /// Those who wait until it is ready or has failed.
    var preparedWaiters: [CheckedContinuation<Void, Never>] = []

    package override func setState(_ new: MXKDataSourceState) {
        super.setState(new)
        guard new == .ready || new == .failed else { return }
        let waiters = preparedWaiters
        preparedWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    open override func destroy() {
        stopListening()
        ownTimeline = nil
        generation += 1
        for continuation in changesContinuations.values { continuation.finish() }
        changesContinuations = [:]
        let waiters = preparedWaiters
        super.destroy()
        preparedWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    open override func didMXSessionStateChange() {
        guard !isDestroyed, state != .ready else { return }
        if mxSession == nil || mxSession?.state == .closed { return setState(.failed) }
        guard sessionHasData else { return }
        if observer == nil { listen() }
        guard let room else { return setState(.failed) }
        if isLive, stateListener == nil { listenForStates(room) }
        if let threadId {
            beginThread(room, threadId)
        } else if isLive {
            timeline?.resetPagination()
            readReadMarker()
            addEchoes()
            refreshReceipts()
            setState(.ready)
            roomDidSet()
            report()
        } else {
            if state == .failed { setState(.preparing) }
            beginAroundEvent(room)
        }
    }

    /// Called once the room is there.
    open func roomDidSet() {}

    /// Begins anew: everything is forgotten, and paged through again by whoever shows it.
    open func reload() {
        guard !isDestroyed, state != .unknown else { return }
        clear()
        setState(.preparing)
        didMXSessionStateChange()
        report()
    }

    func clear() {
        generation += 1
        clearEvents()
        (context, thread) = (nil, nil)
    }

    func clearEvents() {
        list.removeAll()
        (bubbleOf, hidden, echoes, receiptPlaces) = ([:], HiddenEvents(), [:], [:])
        (newestEventId, readMarkerEventId, changedSeries) = (nil, nil, [])
    }

    /// Forgets its bubbles if there are more than this and nothing is being sent.
    open func limitMemoryUsage(_ maxBubbleNb: Int) {
        guard list.count > maxBubbleNb, room?.outgoingMessages.isEmpty != false else { return }
        reload()
    }

    // MARK: Cells

    /// How many bubbles there are. Those of a collapsed series count one by one.
    public var numberOfCells: Int { list.count }

    /// The bubble at an index, from the oldest; nil beyond the ends.
    open func cellData(at index: Int) -> (any MXKRoomBubbleCellDataStoring)? {
        guard (0..<list.count).contains(index) else { return nil }
        return list[index] as? any MXKRoomBubbleCellDataStoring
    }

    /// The bubble of an event; nil if it is not shown.
    open func cellDataOfEvent(withEventId eventId: String) -> (any MXKRoomBubbleCellDataStoring)? { bubbleOf[eventId] }

    /// The index of the bubble of an event; `NSNotFound` if it is not shown.
    open func indexOfCellData(withEventId eventId: String) -> Int {
        bubbleOf[eventId].flatMap { list.index(of: $0) } ?? NSNotFound
    }

    /// How high the delegate's class for it would be.
    open func cellHeight(at index: Int, withMaximumWidth maxWidth: CGFloat) -> CGFloat {
        guard let cell = cellData(at: index) else { return 0 }
        return delegate?.cellViewClass(for: cell)?.height(for: cell, withMaximumWidth: maxWidth) ?? 0
    }

    /// Puts all events into words again.
    open func invalidateBubblesCellDataCache() {
        for cell in list.cells { (cell as? any MXKRoomBubbleCellDataStoring)?.invalidateTextLayout() }
        tell(nil)
    }

    /// An event that it has.
    open func event(withEventId eventId: String) -> MXEvent? {
        bubbleOf[eventId]?.events.first { $0.eventId == eventId } ?? room?.storedEvent(eventId)
    }

    // MARK: Paging

    /// Whether there may be more in this direction.
    open func canPaginate(_ direction: MXTimelineDirection) -> Bool {
        guard state == .ready else { return false }
        if let thread { return direction == .backwards && thread.canPaginate }
        if isLive { return direction == .backwards && timeline?.canPaginate(.backwards) == true }
        return context?.canPaginate(direction) ?? false
    }

    /// As ``paginate(_:direction:onlyFromStore:)``. Exactly one of the closures is called, once.
    open func paginate(
        _ numItems: UInt, direction: MXTimelineDirection, onlyFromStore: Bool, success: ((UInt) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) {
        start(success, failure) { try await $0.paginate(numItems, direction: direction, onlyFromStore: onlyFromStore) }
    }

    /// As the other form. Exactly one of the closures is called, once.
    open func paginateToFill(
        rows: Int, columns: Int, direction: MXTimelineDirection, minRequestMessagesCount: UInt,
        success: (() -> Void)?, failure: (((any Error)?) -> Void)?
    ) {
        start({ success?() }, failure) {
            try await $0.paginateToFill(
                rows: rows, columns: columns, direction: direction, minRequestMessagesCount: minRequestMessagesCount)
        }
    }

    // MARK: Reading

    /// Marks as read what is shown, up to the newest event: a thread, or the room but for its threads.
    open func acknowledge() async throws {
        guard let room else { return }
        if threadId == nil, room.summary.unreadThreads.isEmpty { return try await room.markAllAsRead() }
        guard let newest = newestArrivedEvent else { return }
        if let threadId, newest.eventId != threadId {
            try await room.sendReadReceipt(newest.eventId, threadId: threadId)
        } else if threadId == nil {
            try await room.markAsReadOutsideThreads(upTo: newest.eventId)
        }
    }

    /// Marks everything as read.
    open func markAllAsRead() {
        guard let room else { return }
        start({ (_: Void) in }, nil) { _ in try await room.markAllAsRead() }
    }

    // MARK: Sending

    /// As ``sendTextMessage(_:)``.
    open func sendTextMessage(_ text: String, success: ((String?) -> Void)?, failure: (((any Error)?) -> Void)?) {
        start(success, failure) { try await $0.sendTextMessage(text) }
    }

    /// As ``sendReply(toEventWithId:withTextMessage:)``.
    open func sendReplyToEvent(
        withId eventIdToReply: String, withTextMessage text: String, success: ((String?) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.sendReply(toEventWithId: eventIdToReply, withTextMessage: text) } }

    /// Whether an answer to it makes sense: it is a message that has arrived and was not taken back.
    open func canReplyToEvent(withId eventId: String) -> Bool {
        guard let event = event(withEventId: eventId), !event.isLocalEvent, event.sentState == .sent, !event.isRedacted
        else {
            return false
        }
        return ["m.room.message", "m.sticker", "m.poll.start", "org.matrix.msc3381.poll.start"].contains(event.type)
    }

    /// Sends a picture.
    open func sendImage(
        _ imageData: Data, mimeType: String, success: ((String?) -> Void)?, failure: (((any Error)?) -> Void)?
    ) {
        start(success, failure) { source in
            let ending = mimeType.split(separator: "/").last.map(String.init) ?? "bin"
            let folder = FileManager.default.temporaryDirectory.appending(path: "matrixkit-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "image.\(ending.filter { $0.isLetter || $0.isNumber })")
            try imageData.write(to: file)
            return try await source.sendFile(file, mimeType: mimeType)
        }
    }

    /// Sends a film.
    open func sendVideo(
        _ videoLocalURL: URL, withThumbnail videoThumbnail: Data?, success: ((String?) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.sendFile(videoLocalURL, mimeType: "video/mp4") } }

    /// Sends a recording.
    open func sendAudioFile(
        _ audioFileLocalURL: URL, mimeType: String, success: ((String?) -> Void)?, failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.sendFile(audioFileLocalURL, mimeType: mimeType) } }

    /// Sends a file.
    open func sendFile(
        _ fileLocalURL: URL, mimeType: String, success: ((String?) -> Void)?, failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.sendFile(fileLocalURL, mimeType: mimeType) } }

    /// Sends an event.
    open func sendEvent(
        ofType eventTypeString: String, content: [String: Any], success: ((String?) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) {
        do {
            let send = try requireRoom().queuedEvent(MXEventType(identifier: eventTypeString), content).send
            start(success, failure) { _ in try await send() }
        } catch {
            failure?(error)
        }
    }

    /// Sends a message with this content.
    open func sendMessage(
        withContent content: [AnyHashable: Any], success: ((String?) -> Void)?, failure: (((any Error)?) -> Void)?
    ) {
        let content = content.reduce(into: [String: Any]()) { $0[$1.key as? String ?? ""] = $1.value }
        sendEvent(ofType: "m.room.message", content: content, success: success, failure: failure)
    }

    /// Sends a message again that has failed. It goes to the end.
    open func resendEvent(
        withEventId eventId: String, success: ((String?) -> Void)?, failure: (((any Error)?) -> Void)?
    ) {
        guard let room else { return start(success, failure) { try await $0.requireRoom().resend(eventId) } }
        if let transaction = echoes.first(where: { $0.value == eventId })?.key {
            echoes[transaction] = nil
            remove(eventId: eventId)
        }
        start(success, failure) { _ in try await room.resend(eventId) }
    }

    /// Shows what has not been sent yet.
    open func handleUnsentMessages() {
        addEchoes()
        report()
    }

    /// Whether a reaction to it makes sense.
    open func canReactToEvent(withId eventId: String) -> Bool {
        guard let event = event(withEventId: eventId), !event.isLocalEvent, event.sentState == .sent, !event.isRedacted,
            ["m.room.message", "m.sticker", "m.poll.start", "org.matrix.msc3381.poll.start"].contains(event.type)
        else { return false }
        return event.contentJSON["msgtype"]?.string?.hasPrefix("m.key.verification") != true
    }

    /// Reacts to an event.
    open func addReaction(
        _ reaction: String, forEventId eventId: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?
    ) { start({ success?() }, failure) { try await $0.requireRoom().react(reaction, toEvent: eventId) } }

    /// Takes a reaction of the user back.
    open func removeReaction(
        _ reaction: String, forEventId eventId: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?
    ) { start({ success?() }, failure) { try await $0.requireRoom().unreact(reaction, toEvent: eventId) } }

    /// Whether the user can change it: a text of their own that has arrived and was not taken back.
    open func canEditEvent(withId eventId: String) -> Bool {
        guard let event = event(withEventId: eventId), !event.isLocalEvent, event.sentState == .sent, !event.isRedacted,
            event.sender == mxSession?.credentials?.userId, event.type == "m.room.message"
        else { return false }
        return ["m.text", "m.emote"].contains(event.contentJSON["msgtype"]?.string)
    }

    /// What the user would change: the text without what it repeats of another.
    open func editableTextMessage(for event: MXEvent) -> String? {
        let body = event.newVersion?.body ?? event.body
        guard event.contentJSON["msgtype"]?.string == "m.emote" else { return body }
        return body.map { "/me \($0)" }
    }

    /// Changes a text of the user.
    open func replaceTextMessageForEvent(
        withId eventId: String, withTextMessage text: String, success: ((String?) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.requireRoom().editMessage(eventId, markdown: text) } }

    // MARK: Taking off the screen, and series

    /// Takes an event off the screen. It is not taken back.
    open func removeEvent(withEventId eventId: String) {
        if let room, room.outgoingMessages.contains(where: { $0.eventId == eventId }) {
            try? room.removeOutgoingMessage(eventId)
        }
        echoes = echoes.filter { $0.value != eventId }
        remove(eventId: eventId)
        report()
    }

    /// Shows a series as one line, or each of its bubbles.
    open func collapseRoomBubble(_ bubbleData: any MXKRoomBubbleCellDataStoring, collapsed: Bool) {
        for bubble in series(of: bubbleData) { setCollapsed(bubble, collapsed) }
        report()
    }
}
