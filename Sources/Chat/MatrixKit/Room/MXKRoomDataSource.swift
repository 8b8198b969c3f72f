public import Foundation
public import MatrixProtocol
public import MatrixSDK

/// Provides the messages of a room as bubbles: live, or around an event.
///
/// A live data source receives new events and pages backwards. The user's own messages appear at once, and stay if
/// sending fails. A data source around an event pages both ways and receives no new events. Events are in the
/// homeserver's order.
@MainActor
open class MXKRoomDataSource: MXKDataSource {
    // MARK: Properties

    /// The room id.
    public let roomId: String
    /// Whether new events are received.
    public let isLive: Bool
    /// Always false: only joined rooms are shown.
    public var isPeeking: Bool { false }
    let initialEventId: String?
    /// The event that started the thread; `nil` for a room.
    public let threadId: String?

    /// The room; `nil` while the session does not know it.
    public var room: MXRoom? { mxSession?.room(withRoomId: roomId) }
    /// The current state of the room.
    public var roomState: MXRoomState? { room?.state }
    /// The timeline of a live room. It is private to this data source.
    public var timeline: MXEventTimeline? {
        guard isLive, threadId == nil, let room else { return nil }
        if let ownTimeline, ownTimeline.room === room { return ownTimeline.timeline }
        let timeline = room.makeTimeline()
        ownTimeline = (room, timeline)
        return timeline
    }
    /// After leaving and joining again, the room is a new object.
    private var ownTimeline: (room: MXRoom, timeline: MXEventTimeline)?
    /// The number of events received since the user last looked: see ``resetServerSyncEventCount()``.
    public internal(set) var serverSyncEventCount = 0
    /// The unsent draft. The application stores it.
    public var partialTextMessage: String?

    // MARK: Appearance

    /// The formatter for events. Setting a new one formats all events again.
    public var eventFormatter: MXKEventFormatter? {
        didSet { invalidateBubblesCellDataCache() }
    }
    /// Whether bubbles show the time. The default is false.
    public var showBubblesDateTime = false { didSet { if showBubblesDateTime != oldValue { applyFlags() } } }
    /// Whether to show the read marker. The default is true.
    public var showReadMarker = true { didSet { if showReadMarker != oldValue { readMarkerMoved() } } }
    /// Whether bubbles show receipts. The default is true.
    public var showBubbleReceipts = true { didSet { if showBubbleReceipts != oldValue { applyFlags() } } }
    /// Whether bubbles show reactions. The default is true.
    public var showReactions = true { didSet { if showReactions != oldValue { applyFlags() } } }
    /// Whether to show typing notifications. The default is true.
    public var showTypingNotifications = true
    /// The boundaries between bubbles. The default is between days.
    public var bubblesPagination = MXKRoomDataSourceBubblesPagination.perDay {
        didSet { if bubblesPagination != oldValue { reload() } }
    }
    /// The number of bubbles above which a data source that is not on screen forgets them. The default is 30.
    public var maxBackgroundCachedBubblesCount: UInt = 30
    /// The number of events to request around the initial event. The default is 30.
    public var paginationLimitAroundInitialEvent: UInt = 30
    /// Whether thread messages are left to separate data sources, and the events that started threads show the number
    /// of replies. The default is true. Applies to live rooms.
    public var showsThreadsApart = true { didSet { if showsThreadsApart != oldValue { reload() } } }
    /// Whether to show only events with files. The default is false.
    public var filterMessagesWithURL = false { didSet { if filterMessagesWithURL != oldValue { reload() } } }

    // MARK: State

    var list = CellList<MXKCellData>()
    /// The bubble of each shown event.
    var bubbleOf: [String: any MXKRoomBubbleCellDataStoring] = [:]
    /// The known events that are not shown.
    var hidden = HiddenEvents()
    /// The newest event, shown or hidden.
    var newestEventId: String?
    /// The local echoes of the user's messages: event ids by transaction.
    var echoes: [String: String] = [:]
    /// The progress of the user's uploads by transaction, as in ``MXKRoomBubbleCellData/uploadProgress``.
    var uploads: [String: CGFloat] = [:]
    /// Whether the event being added is older than all others.
    var isAddingOlder = false
    /// The shown event at which the read marker is placed.
    public internal(set) var readMarkerEventId: String?
    /// One or more bubbles of each series that has changed since the last report.
    var changedSeries: [any MXKRoomBubbleCellDataStoring] = []
    /// The receipts as last read from the store.
    var receipts: [MXReceipt] = []
    /// The shown event of each user's receipt.
    var receiptPlaces: [String: String] = [:]
    /// The data read for the events being added.
    var reading = RoomReading()

    var observer: UUID?
    var stateListener: Any?
    var inbox: RoomInbox?
    var context: MXContextTimeline?
    var thread: MXThreadTimeline?
    /// A number that changes with every restart, so that pending work of an earlier one is discarded.
    var generation = 0
    let pages = PageTurns()
    var changesContinuations: [UUID: AsyncStream<MXKCellChanges?>.Continuation] = [:]
    private var fallbackFormatter: MXKEventFormatter?

    /// The formatter for events: the one that was set, or a default one.
    var formatter: MXKEventFormatter {
        if let eventFormatter { return eventFormatter }
        if let fallbackFormatter { return fallbackFormatter }
        let formatter = MXKEventFormatter(matrixSession: mxSession)
        fallbackFormatter = formatter
        return formatter
    }

    // MARK: Life cycle

    /// Creates a live data source. It prepares itself: see ``MXKDataSource/state``.
    public convenience init(roomId: String, andMatrixSession mxSession: MXSession) {
        self.init(roomId: roomId, initialEventId: nil, andMatrixSession: mxSession)
    }

    /// Creates a data source around an event, or a live one if `initialEventId` is `nil`.
    public required init(roomId: String, initialEventId: String?, andMatrixSession mxSession: MXSession) {
        self.roomId = roomId
        (self.initialEventId, threadId) = (initialEventId, nil)
        isLive = initialEventId == nil
        super.init(matrixSession: mxSession)
        begin()
    }

    /// Creates a live data source of a thread, with the event that started it and the replies.
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

    /// Callers waiting until the data source is ready or has failed.
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

    /// Called once the room is available.
    open func roomDidSet() {}

    /// Starts over: discards all events. The view then pages through them again.
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

    /// Forgets the bubbles if there are more than this and nothing is being sent.
    open func limitMemoryUsage(_ maxBubbleNb: Int) {
        guard list.count > maxBubbleNb, room?.outgoingMessages.isEmpty != false else { return }
        reload()
    }

    // MARK: Cells

    /// The number of bubbles. Each bubble of a collapsed series counts.
    public var numberOfCells: Int { list.count }

    /// Returns the bubble at an index, oldest first; `nil` if out of range.
    open func cellData(at index: Int) -> (any MXKRoomBubbleCellDataStoring)? {
        guard (0..<list.count).contains(index) else { return nil }
        return list[index] as? any MXKRoomBubbleCellDataStoring
    }

    /// Returns the bubble of an event; `nil` if it is not shown.
    open func cellDataOfEvent(withEventId eventId: String) -> (any MXKRoomBubbleCellDataStoring)? { bubbleOf[eventId] }

    /// Returns the index of an event's bubble; `NSNotFound` if it is not shown.
    open func indexOfCellData(withEventId eventId: String) -> Int {
        bubbleOf[eventId].flatMap { list.index(of: $0) } ?? NSNotFound
    }

    /// Returns the cell height according to the delegate's view class.
    open func cellHeight(at index: Int, withMaximumWidth maxWidth: CGFloat) -> CGFloat {
        guard let cell = cellData(at: index) else { return 0 }
        return delegate?.cellViewClass(for: cell)?.height(for: cell, withMaximumWidth: maxWidth) ?? 0
    }

    /// Discards the texts of all events so that they are formatted again.
    open func invalidateBubblesCellDataCache() {
        for cell in list.cells { (cell as? any MXKRoomBubbleCellDataStoring)?.invalidateTextLayout() }
        tell(nil)
    }

    /// Returns a loaded event.
    open func event(withEventId eventId: String) -> MXEvent? {
        bubbleOf[eventId]?.events.first { $0.eventId == eventId } ?? room?.storedEvent(eventId)
    }

    // MARK: Paging

    /// Returns whether there may be more events in this direction.
    open func canPaginate(_ direction: MXTimelineDirection) -> Bool {
        guard state == .ready else { return false }
        if let thread { return direction == .backwards && thread.canPaginate }
        if isLive { return direction == .backwards && timeline?.canPaginate(.backwards) == true }
        return context?.canPaginate(direction) ?? false
    }

    /// Like ``paginate(_:direction:onlyFromStore:)``. Calls exactly one of the closures, once.
    open func paginate(
        _ numItems: UInt, direction: MXTimelineDirection, onlyFromStore: Bool, success: ((UInt) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) {
        start(success, failure) { try await $0.paginate(numItems, direction: direction, onlyFromStore: onlyFromStore) }
    }

    /// Like the asynchronous method. Calls exactly one of the closures, once.
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

    /// Marks the shown events as read, up to the newest: those of a thread, or of the room without its threads.
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

    /// Like ``sendTextMessage(_:)``, with closures.
    open func sendTextMessage(_ text: String, success: ((String?) -> Void)?, failure: (((any Error)?) -> Void)?) {
        start(success, failure) { try await $0.sendTextMessage(text) }
    }

    /// Like ``sendReply(toEventWithId:withTextMessage:)``, with closures.
    open func sendReplyToEvent(
        withId eventIdToReply: String, withTextMessage text: String, success: ((String?) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.sendReply(toEventWithId: eventIdToReply, withTextMessage: text) } }

    /// Returns whether the user can reply to an event: a message that has been sent and is not redacted.
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

    /// Sends a video.
    open func sendVideo(
        _ videoLocalURL: URL, withThumbnail videoThumbnail: Data?, success: ((String?) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.sendFile(videoLocalURL, mimeType: "video/mp4") } }

    /// Sends an audio recording.
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

    /// Resends a failed message. It moves to the end.
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

    /// Shows the unsent messages.
    open func handleUnsentMessages() {
        addEchoes()
        report()
    }

    /// Returns whether the user can react to an event.
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

    /// Removes a reaction of the user.
    open func removeReaction(
        _ reaction: String, forEventId eventId: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?
    ) { start({ success?() }, failure) { try await $0.requireRoom().unreact(reaction, toEvent: eventId) } }

    /// Returns whether the user can edit an event: their own text message that has been sent and is not redacted.
    open func canEditEvent(withId eventId: String) -> Bool {
        guard let event = event(withEventId: eventId), !event.isLocalEvent, event.sentState == .sent, !event.isRedacted,
            event.sender == mxSession?.credentials?.userId, event.type == "m.room.message"
        else { return false }
        return ["m.text", "m.emote"].contains(event.contentJSON["msgtype"]?.string)
    }

    /// Returns the text to edit, without the quoted part of a reply.
    open func editableTextMessage(for event: MXEvent) -> String? {
        let body = event.newVersion?.body ?? event.body
        guard event.contentJSON["msgtype"]?.string == "m.emote" else { return body }
        return body.map { "/me \($0)" }
    }

    /// Edits a text message of the user.
    open func replaceTextMessageForEvent(
        withId eventId: String, withTextMessage text: String, success: ((String?) -> Void)?,
        failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.requireRoom().editMessage(eventId, markdown: text) } }

    // MARK: Hiding events and collapsing series

    /// Removes an event from the screen. The event is not redacted.
    open func removeEvent(withEventId eventId: String) {
        if let room, room.outgoingMessages.contains(where: { $0.eventId == eventId }) {
            try? room.removeOutgoingMessage(eventId)
        }
        echoes = echoes.filter { $0.value != eventId }
        remove(eventId: eventId)
        report()
    }

    /// Collapses a series into one line or expands it.
    open func collapseRoomBubble(_ bubbleData: any MXKRoomBubbleCellDataStoring, collapsed: Bool) {
        for bubble in series(of: bubbleData) { setCollapsed(bubble, collapsed) }
        report()
    }
}
