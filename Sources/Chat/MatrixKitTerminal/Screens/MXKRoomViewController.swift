import Foundation
public import MatrixKit
import MatrixProtocol
public import MatrixSDK
public import TerminalUI

/// A room: its messages, and below them where new ones are written.
///
/// It needs nothing around it: a program that draws it into a terminal, and hands keys to it, is a chat.
@MainActor
open class MXKRoomViewController: MXKViewController, MXKDataSourceDelegate, MXKRoomInputToolbarViewDelegate {
    /// What is shown.
    public private(set) var roomDataSource: MXKRoomDataSource?
    /// Whether the data source that is shown ends when another takes its place. False for each that
    /// ``displayRoom(_:)`` shows, until it is set.
    public var hasRoomDataSourceOwnership = false
    /// Called when the newest messages are wanted while those around an event are shown. Usually a live data source of the
    /// same room is shown.
    public var onShowNewest: (@MainActor () -> Void)?
    /// Whether what is on the screen counts as read. Usually true.
    public var isEventsAcknowledgementEnabled = true
    /// Whether the line of what is new moves when the room is left. Usually true.
    public var updateRoomReadMarker = true
    /// Rows before the oldest message at which older ones are asked for. Usually 20.
    public var paginationThreshold: UInt = 20
    /// Events that are asked for at a time. Usually 30.
    public var paginationLimit: UInt = 30
    /// Whether a room that the user is invited to is joined when it is shown. Usually false.
    public var autoJoinInvitedRoom = false
    /// Whether what is written and not sent is kept with the data source. Usually true.
    public var saveProgressTextInput = true
    /// Whether the terminal has the keyboard: what is shown without it is not read.
    public var hasTerminalFocus = true { didSet { if hasTerminalFocus { acknowledge() } } }
    /// Where messages are written.
    public let inputToolbarView: MXKRoomInputToolbarView
    /// Carries out commands beyond those of ``isIRCStyleCommand(_:)``; false is none of its own.
    public var onCommand: (@MainActor (MXKCommand) -> Bool)?
    /// Called with what went wrong, for people.
    public var onError: (@MainActor (String) -> Void)?
    /// Emoji are shown by their names, hidden parts are shown, receipts are shown.
    public var layoutOptions = MXKCellLayout(columns: 0) { didSet { setNeedsDisplay() } }

    /// The message that commands are about; nil is none.
    public internal(set) var selectedEventId: String?

    /// What is shown again when a thread is left.
    var behindThread: (source: MXKRoomDataSource, isOwned: Bool)?
    /// What is written into threads and not sent yet, by user, room and the event that a thread began with.
    public var unsentThreadTexts: [String: String] = [:]

    var viewport = CellViewport()
    let cache = LayoutCache()
    package var thumbnails = ThumbnailStore() { didSet { watchThumbnails() } }
    var timelineRows = 0
    var timelineTop = 0
    var columns = 80
    var isPaginating = false
    /// Pages that were asked for without a key in between: a room may have nothing to show for ever.
    var pagesInARow = 0
    static let maximumPagesInARow = 10
    /// At the newest message, older bubbles than these are forgotten.
    private static let (maximumBubbles, keptBubbles) = (1000, 300)
    var pagingTrouble: String?
    var newBelow = 0
    var lastAcknowledged: String?
    /// What the homeserver is being told that it was read: once at a time, however fast messages come.
    var acknowledging: MXKRoomDataSource?
    var typing = TypingNotice()
    var notice: String?
    /// What can be done, in the status line.
    var hint: String? { didSet { setNeedsDisplay() } }
    /// Answers and edits that could not be sent.
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

    // MARK: What is shown

    /// Shows a room; nil shows nothing.
    open func displayRoom(_ dataSource: MXKRoomDataSource?) {
        // What was said before the first room is not about a room.
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

    /// Keeps what is written with the data source, but not what is to be another version of a message.
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

    /// Called when the room's messages are there.
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

    /// Shows the newest messages of the room in the place of those around an event.
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

    /// The room's name and topic.
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

    /// Who is typing, and what else is to be known.
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

    /// Says something in the status line until the next key.
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

    /// A file that is dragged onto a terminal comes as its path: it is offered to be sent.
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

    /// Whether the newest message is on the screen.
    open func isBubblesTableScrollViewAtTheBottom() -> Bool { viewport.isAtEnd }

    /// Shows the newest message.
    open func scrollBubblesTableViewToBottom(animated: Bool) {
        if roomDataSource?.isLive == false { return showNewest() }
        viewport.goToEnd()
        selectedEventId = nil
        acknowledge()
        setNeedsDisplay()
    }

    /// Draws the messages anew.
    ///
    /// - Parameter useBottomAnchor: Whether the newest one is shown.
    /// - Returns: Whether it is.
    open func reloadBubblesTable(_ useBottomAnchor: Bool) -> Bool {
        cache.forget()
        if useBottomAnchor { viewport.goToEnd() }
        setNeedsDisplay()
        return viewport.isAtEnd
    }

    // MARK: The chosen message

    /// The next message answers the chosen one, or the newest.
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

    /// The next message takes the place of the chosen one, or of the user's last.
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

    /// Writes somebody's name.
    open func mention(_ roomMember: MXRoomMember) {
        let name = Completions.name(of: roomMember, in: roomDataSource?.roomState)
        inputToolbarView.mention(MXMention(userId: roomMember.userId, name: name))
        setNeedsDisplay()
    }

    /// Shows all that is known of an event.
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

    /// The room was left: the screen shows nothing more of it.
    open func leaveRoomOnEvent(_ event: MXEvent?) { displayRoom(nil) }

    // MARK: Commands and completion

    /// Carries out a command, as `/topic text`.
    ///
    /// - Returns: Whether it is one; else it is text to be sent.
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

    /// What the word at the end can become: names of members, rooms, commands, emoji.
    open func completions(_ before: String) -> [MXKCompletion] {
        let word = String(before.reversed().prefix { !$0.isWhitespace }.reversed())
        let isAtStart = word.count == before.count
        return Completions(room: roomDataSource?.room, session: mxSessions.first).candidates(word, isAtStart: isAtStart)
    }
}
