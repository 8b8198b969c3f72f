import Foundation
public import MatrixKit
import MatrixProtocol
public import MatrixSDK
public import TerminalUI

/// A room: its messages and the composer below them.
///
/// It is self-contained: a program that draws it in a terminal and passes keys to it is a chat.
@MainActor
open class MXKRoomViewController: MXKViewController, MXKDataSourceDelegate, MXKRoomInputToolbarViewDelegate {
    /// The data source of the room.
    public private(set) var roomDataSource: MXKRoomDataSource?
    /// Whether to destroy the current data source when another one replaces it. ``displayRoom(_:)`` resets it to false.
    public var hasRoomDataSourceOwnership = false
    /// Called to show the newest messages instead of those around an event. A program usually shows a live data source
    /// of the same room then.
    public var onShowNewest: (@MainActor () -> Void)?
    /// Whether to mark messages on the screen as read. The default is true.
    public var isEventsAcknowledgementEnabled = true
    /// Whether to move the read marker when the user leaves the room. The default is true.
    public var updateRoomReadMarker = true
    /// The number of rows before the oldest message at which older ones are requested. The default is 20.
    public var paginationThreshold: UInt = 20
    /// The number of events per request. The default is 30.
    public var paginationLimit: UInt = 30
    /// Whether to join a room automatically when an invitation to it is shown. The default is false.
    public var autoJoinInvitedRoom = false
    /// Whether to keep the draft with the data source. The default is true.
    public var saveProgressTextInput = true
    /// Whether the terminal has the keyboard focus. Without it, messages on the screen do not count as read.
    public var hasTerminalFocus = true { didSet { if hasTerminalFocus { acknowledge() } } }
    /// The message composer.
    public let inputToolbarView: MXKRoomInputToolbarView
    /// Runs commands other than those of ``isIRCStyleCommand(_:)``. Return false for an unknown one.
    public var onCommand: (@MainActor (MXKCommand) -> Bool)?
    /// Called with an error message for the user.
    public var onError: (@MainActor (String) -> Void)?
    /// The options for emoji names, spoilers and receipts.
    public var layoutOptions = MXKCellLayout(columns: 0) { didSet { setNeedsDisplay() } }

    /// The message that commands apply to; `nil` if there is none.
    public internal(set) var selectedEventId: String?

    /// The room to return to from a thread.
    var behindThread: (source: MXKRoomDataSource, isOwned: Bool)?
    /// The unsent texts of threads, by user, room and the event that started the thread.
    public var unsentThreadTexts: [String: String] = [:]

    var viewport = CellViewport()
    let cache = LayoutCache()
    package var thumbnails = ThumbnailStore() { didSet { watchThumbnails() } }
    var timelineRows = 0
    var timelineTop = 0
    var columns = 80
    var isPaginating = false
    /// The number of pages requested since the last key: a room may have nothing to show at all.
    var pagesInARow = 0
    static let maximumPagesInARow = 10
    /// At the newest message, older bubbles beyond these limits are discarded.
    private static let (maximumBubbles, keptBubbles) = (1000, 300)
    var pagingTrouble: String?
    var newBelow = 0
    var lastAcknowledged: String?
    /// The data source whose read receipt is pending. Only one is sent at a time, however fast messages arrive.
    var acknowledging: MXKRoomDataSource?
    var typing = TypingNotice()
    var notice: String?
    /// A hint in the status line.
    var hint: String? { didSet { setNeedsDisplay() } }
    /// Replies and edits that could not be sent.
    var returned: [Returned] = []
    struct Returned {
        let source: MXKRoomDataSource
        let text: String
        let mode: MXKRoomInputToolbarView.Mode
        let mentions: [MXMention]
    }

    public override init() {
        inputToolbarView = MXKRoomInputToolbarView()
        super.init()
        watchThumbnails()
        inputToolbarView.delegate = self
        inputToolbarView.completions = { [weak self] in self?.completions($0) ?? [] }
    }

    // MARK: The displayed room

    /// Shows a room; pass `nil` to show nothing.
    open func displayRoom(_ dataSource: MXKRoomDataSource?) {
        // A notice from before the first room is not about a room.
        if roomDataSource != nil { notice = nil }
        leaveRoom()
        forgetWhatIsBehind(but: dataSource)
        roomDataSource = dataSource
        hasRoomDataSourceOwnership = false
        (viewport, selectedEventId, newBelow, lastAcknowledged) = (CellViewport(), nil, 0, nil)
        pagingTrouble = nil
        cache.forget()
        guard let dataSource else { return setNeedsDisplay() }
        dataSource.delegate = self
        if let session = dataSource.mxSession { addMatrixSession(session) }
        inputToolbarView.begin(with: saveProgressTextInput ? dataSource.partialTextMessage ?? "" : "")
        giveBack()
        viewport.followsEnd = dataSource.isLive
        if let initial = dataSource.initialEvent { viewport.go(to: initial) }
        if dataSource.state == .ready { onRoomDataSourceReady() }
        setNeedsDisplay()
    }

    /// Keeps the draft with the data source, except for the text of an edit.
    func keepText() {
        guard saveProgressTextInput else { return }
        roomDataSource?.partialTextMessage = inputToolbarView.draft
        if let roomDataSource, let key = Self.threadKey(roomDataSource) {
            unsentThreadTexts[key] = inputToolbarView.draft
        }
    }

    private func leaveRoom() {
        guard let roomDataSource else { return }
        keepText()
        stopTyping()
        if updateRoomReadMarker { roomDataSource.updateReadMarker() }
        if roomDataSource.delegate === self { roomDataSource.delegate = nil }
        if hasRoomDataSourceOwnership { roomDataSource.destroy() }
        self.roomDataSource = nil
    }

    /// Called when the room's messages are available.
    open func onRoomDataSourceReady() {
        title = roomDataSource?.room?.displayName
        if autoJoinInvitedRoom, roomDataSource?.room?.summary.membership == .invite { joinRoom(nil) }
        roomDataSource?.resetServerSyncEventCount()
        fill()
    }

    open override func destroy() {
        leaveRoom()
        forgetWhatIsBehind(but: nil)
        super.destroy()
    }

    // MARK: Cells

    open func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? {
        cellData is MXKRoomBubbleCellData ? MXKTerminalBubbleCell.self : nil
    }

    open func cellReuseIdentifier(for cellData: MXKCellData) -> String? { "MXKTerminalBubbleCell" }

    open func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) {
        cache.context += 1
        if let changes = changes as? MXKCellChanges, let last = changes.inserted.last,
            last + 1 == roomDataSource?.numberOfCells, !viewport.isAtEnd
        {
            newBelow += 1
        }
        if changes == nil { viewport.isAtEnd ? fill() : findAnchor() }
        if viewport.isAtEnd {
            acknowledge()
            if let source = roomDataSource, source.numberOfCells > Self.maximumBubbles {
                source.forgetOlder(keeping: Self.keptBubbles)
            }
        }
        setNeedsDisplay()
    }

    open func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) {
        if state == .ready { onRoomDataSourceReady() }
        setNeedsDisplay()
    }

    open func dataSource(_ dataSource: MXKDataSource, didAddMatrixSession mxSession: MXSession) {}

    open func dataSource(_ dataSource: MXKDataSource, didRemoveMatrixSession mxSession: MXSession) {}

    open func dataSource(
        _ dataSource: MXKDataSource, didRecognizeAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?
    ) {}

    open func dataSource(
        _ dataSource: MXKDataSource, shouldDoAction actionIdentifier: String, inCell cell: any MXKCellRendering,
        userInfo: [AnyHashable: Any]?, defaultValue: Bool
    ) -> Bool { defaultValue }

    // MARK: Paging

    /// Shows the newest messages of the room instead of those around an event.
    open func showNewest() {
        guard let source = roomDataSource, !source.isLive, let session = source.mxSession else { return }
        keepText()
        let text = source.partialTextMessage
        if let onShowNewest {
            onShowNewest()
        } else {
            displayRoom(MXKRoomDataSource(roomId: source.roomId, andMatrixSession: session))
            hasRoomDataSourceOwnership = true
        }
        if let text, !text.isEmpty { inputToolbarView.textMessage = text }
    }

    // MARK: Drawing

    open override func draw(columns: Int, rows: Int) -> TerminalSurface {
        self.columns = columns
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        guard rows > 0, columns > 0 else { return surface }
        let composer = inputToolbarView.draw(columns: columns, theme: theme, profile: profile)
        let composerRows = min(composer.rows, max(rows - 2, 1))
        let hasTitle = rows > 6
        timelineTop = hasTitle ? 1 : 0
        let oldRows = timelineRows
        timelineRows = max(rows - composerRows - 1 - timelineTop, 0)
        if hasTitle { surface.draw(titleLine(columns), row: 0) }
        drawTimeline(into: &surface)
        surface.draw(statusLine(columns), row: timelineTop + timelineRows)
        surface.draw(composer, column: 0, row: rows - composerRows)
        if timelineRows > oldRows { fill() }
        paginateIfNeeded()
        if viewport.isAtEnd {
            newBelow = 0
            acknowledge()
        }
        return surface
    }

    /// Returns the room's name and topic.
    open func titleLine(_ columns: Int) -> TerminalLine {
        guard let room = roomDataSource?.room else { return TerminalLine() }
        var text = StyledText()
        if roomDataSource?.threadId != nil { text.append("Thread in ", theme.style(.hint)) }
        text.append(ScreenText.cleanedName(room.displayName), theme.style(.title))
        if room.summary.isEncrypted { text.append("  encrypted", theme.style(.hint)) }
        let count = room.summary.joinedMembersCount
        text.append(count == 1 ? "  1 member" : "  \(count) members", theme.style(.hint))
        if let topic = room.summary.topic { text.append("  " + ScreenText.cleanedName(topic), theme.style(.subtitle)) }
        return TerminalLine(text, profile).truncated(to: columns).fitted(to: columns)
    }

    /// Returns the typing users and other status information.
    open func statusLine(_ columns: Int) -> TerminalLine {
        var rule = TerminalLine(status, profile).truncated(to: columns)
        let rest = columns - rule.columns
        if rest > 0 {
            rule.append(
                StyledText(
                    (rule.columns > 0 && rest > 1 ? " " : "")
                        + String(repeating: "─", count: max(rest - (rule.columns > 0 && rest > 1 ? 1 : 0), 0)),
                    theme.style(.border)), profile)
        }
        return rule.fitted(to: columns)
    }

    /// Shows a text in the status line until the next key.
    public func show(_ words: String) {
        notice = words
        setNeedsDisplay()
    }

    // MARK: Keys

    open override func handle(_ input: TerminalInput) -> Bool {
        if notice != nil, input.isKey { notice = nil }
        pagesInARow = 0
        defer {
            giveBack()
            setNeedsDisplay()
        }
        switch input {
        case .pageUp: scroll(by: -max(timelineRows - 1, 1))
        case .pageDown: scroll(by: max(timelineRows - 1, 1))
        case .key(.home, .alt), .key(.home, .control): scroll(by: -1_000_000)
        case .key(.end, .alt), .key(.end, .control): scrollBubblesTableViewToBottom(animated: false)
        case .key(.up, .alt): select(previous: true)
        case .key(.down, .alt): select(previous: false)
        case .control("r"): beginReply()
        case .escape where selectedEventId != nil: selectedEventId = nil
        case .escape where roomDataSource?.threadId != nil: leaveThread()
        case .alt("t"): displayThread()
        case .key(.up, .control): beginEdit()
        case .mouse(let mouse):
            switch mouse.action {
            case .scrolledUp: scroll(by: -3)
            case .scrolledDown: scroll(by: 3)
            case .pressed(button: 0): return click(mouse)
            case .pressed, .released, .moved: return false
            }
        case .paste(let text) where inputToolbarView.textMessage.isEmpty: paste(text)
        default: return inputToolbarView.handle(input)
        }
        return true
    }

    /// Offers to send a file if the text is the path that a terminal pastes when a file is dropped on it.
    private func paste(_ text: String) {
        guard let file = DroppedFile(text) else {
            _ = inputToolbarView.handle(.paste(text))
            return
        }
        inputToolbarView.textMessage = "/upload \(file.path) "
        inputToolbarView.hint = "Enter sends the file. You can add words for it."
    }

    private func scroll(by count: Int) {
        viewport.scroll(by: count, viewportSource(), rows: timelineRows)
        pagingTrouble = nil
        paginateIfNeeded()
        if viewport.isAtEnd { acknowledge() }
    }

    /// Returns whether the newest message is on the screen.
    open func isBubblesTableScrollViewAtTheBottom() -> Bool { viewport.isAtEnd }

    /// Scrolls to the newest message.
    open func scrollBubblesTableViewToBottom(animated: Bool) {
        if roomDataSource?.isLive == false { return showNewest() }
        viewport.goToEnd()
        selectedEventId = nil
        acknowledge()
        setNeedsDisplay()
    }

    /// Redraws the messages.
    ///
    /// - Parameter useBottomAnchor: Whether to scroll to the newest one.
    /// - Returns: Whether the newest one is shown.
    open func reloadBubblesTable(_ useBottomAnchor: Bool) -> Bool {
        cache.forget()
        if useBottomAnchor { viewport.goToEnd() }
        setNeedsDisplay()
        return viewport.isAtEnd
    }

    // MARK: The selected message

    /// Starts a reply to the selected message, or to the newest.
    open func beginReply() {
        guard let source = roomDataSource,
            let event = targetEvent(where: { source.canReplyToEvent(withId: $0.eventId) }),
            source.canReplyToEvent(withId: event.eventId)
        else { return show("There is no message to reply to.") }
        let name = source.eventFormatterInUse.senderDisplayName(for: event, with: source.roomState) ?? event.sender
        inputToolbarView.mode = .reply(eventId: event.eventId, to: name)
        selectedEventId = nil
        setNeedsDisplay()
    }

    /// Starts editing the selected message, or the user's last one.
    open func beginEdit() {
        guard let source = roomDataSource, let event = targetEvent(where: { source.canEditEvent(withId: $0.eventId) }),
            source.canEditEvent(withId: event.eventId)
        else { return show("There is no message of yours to edit.") }
        inputToolbarView.beginEdit(
            of: event.eventId, text: source.editableTextMessage(for: event) ?? "",
            mentions: source.mentions(in: event))
        selectedEventId = nil
        setNeedsDisplay()
    }

    /// Inserts the name of a member.
    open func mention(_ roomMember: MXRoomMember) {
        let name = Completions.name(of: roomMember, in: roomDataSource?.roomState)
        inputToolbarView.mention(MXMention(userId: roomMember.userId, name: name))
        setNeedsDisplay()
    }

    /// Shows the details of an event.
    open func showEventDetails(_ event: MXEvent) { show("\(event.type) \(event.eventId) from \(event.sender)") }

    // MARK: Sending

    open func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, sendTextMessage text: String) {
        stopTyping()
        let (mode, mentions) = (toolbarView.mode, toolbarView.mentions)
        if mode == .message, isIRCStyleCommand(text) { return }
        send(text, mode, mentions)
    }

    // MARK: Typing

    open func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, isTyping: Bool) {
        guard let room = roomDataSource?.room else { return }
        if !isTyping { return stopTyping() }
        guard typing.begins(at: .now) else { return }
        Task { try? await room.sendTypingNotification(typing: true, timeout: TypingNotice.timeout) }
    }

    // MARK: Members

    /// Joins the room.
    open func joinRoom(_ completion: ((MXKRoomViewControllerJoinRoomResult) -> Void)?) {
        join(completion)
    }

    /// Clears the screen after the room was left.
    open func leaveRoomOnEvent(_ event: MXEvent?) { displayRoom(nil) }

    // MARK: Commands and completion

    /// Runs a command such as `/topic text`.
    ///
    /// - Returns: Whether it is a command. If not, it is text to send.
    open func isIRCStyleCommand(_ string: String) -> Bool {
        guard let command = MXKCommand(string), command.name != "me" || command.problem() != nil else { return false }
        if let problem = command.problem() {
            inputToolbarView.textMessage = string
            inputToolbarView.hint = problem
            return true
        }
        if onCommand?(command) == true || carryOut(command) { return true }
        inputToolbarView.textMessage = string
        inputToolbarView.hint = "/\(command.name) does nothing here."
        return true
    }

    /// Returns completions for the last word: names of members, rooms, commands and emoji.
    open func completions(_ before: String) -> [MXKCompletion] {
        let word = String(before.reversed().prefix { !$0.isWhitespace }.reversed())
        let isAtStart = word.count == before.count
        return Completions(room: roomDataSource?.room, session: mxSessions.first).candidates(word, isAtStart: isAtStart)
    }
}
