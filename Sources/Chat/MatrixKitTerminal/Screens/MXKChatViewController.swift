public import Foundation
public import MatrixKit
import MatrixProtocol
public import MatrixSDK
public import TerminalUI

/// A whole chat: the rooms of every account, one of them, and its members beside it where there is room for them.
///
/// Below 60 columns one of them is shown at a time; from 100 on all three.
@MainActor
open class MXKChatViewController: MXKViewController, MXKRecentListViewControllerDelegate {
    enum Focus {
        case rooms
        case room
        case search
        case members
    }

    static let oneColumn = 60
    static let threeColumns = 100

    /// The rooms.
    public let recents: MXKRecentListViewController
    /// The room.
    public let room: MXKRoomViewController
    /// The members of the room.
    public let members: MXKRoomMemberListViewController
    /// What a search has found; it takes the place of the room while it is shown.
    public let searchResults = MXKSearchViewController()
    /// A question or a list that is in the place of all others; nil for none.
    public private(set) var dialog: MXKDialogViewController?
    /// Whether images may be downloaded and shown, if the settings say so. Usually false.
    public var allowsImages = false { didSet { applySettings() } }
    /// Called when the user wants to leave.
    public var onQuit: (@MainActor () -> Void)?
    /// Called when the screen is to be drawn whole.
    public var onRepaint: (@MainActor () -> Void)?
    /// Called when mouse reports are switched.
    public var onMouse: (@MainActor (Bool) -> Void)?
    /// Called when the pixels of images are to be shown, or half blocks in their place.
    public var onGraphics: (@MainActor (Bool) -> Void)?
    /// Called with a file that the user wants to see, for the program that shows it. Nil opens none.
    public var onOpenFile: (@MainActor (URL) async throws -> Void)?
    /// Called when an account is to be logged out, which the user has confirmed.
    public var onLogout: (@MainActor (_ userId: String) -> Void)?
    /// Called when an account that could not be used is to be tried again.
    public var onRetryAccount: (@MainActor (_ userId: String) -> Void)?
    /// Those who are logged in, in the order in which the screen names them: see ``setAccount(_:)``.
    public internal(set) var accounts: [MXKChatAccount] = []
    /// Whether the first room of the list is shown as soon as there is one, if no other is. Usually false.
    public var opensFirstRoom = false { didSet { listChanged() } }
    /// Called with a link that is to be opened, which has one of a few schemes.
    public var onOpenLink: (@MainActor (URL) async throws -> Void)?
    /// Called with text for the clipboard. It is clean.
    public var onCopy: (@MainActor (String) -> Void)?
    /// Lets the user write in an editor of their own; takes what is written so far, and returns what it is then.
    public var onEditor: (@MainActor (String) async throws -> String)?
    /// Called when what is written and not sent is another.
    public var onDraftChange: (@MainActor () -> Void)?
    /// The keys, and what the user has chosen.
    public var settings = MXKChatSettings() { didSet { applySettings() } }
    /// Whether members are shown where there is room.
    public var showsMembers = true { didSet { setNeedsDisplay() } }

    var focus = Focus.room
    var search = LineEditor()
    var isHelpShown = false
    /// A hit of the search is shown in its room, and `n` goes to the next.
    var isAmongHits = false {
        didSet { room.hint = isAmongHits ? "\(searchResults.position): n next, N previous" : nil }
    }
    var helpLine = 0
    /// What was written when Ctrl-C was pressed, which leaves if it is pressed again; nil once another key was.
    var textAtLeaving: String?
    var reportsMouse = false
    var showsGraphics = true
    var columns = 0
    /// The account that commands are for where no room is shown.
    var chosenUserId: String?
    private var verifications: [String: MXKVerificationViewController] = [:]
    private var sources: [String: MXKRoomDataSource] = [:]
    private var drafts: [String: String] = [:]
    /// Rooms in the order in which they were looked at, the last one at the end.
    private var lastShown: [String] = []
    private static let maximumSources = 20

    public override init() {
        (recents, room, members) = (
            MXKRecentListViewController(), MXKRoomViewController(), MXKRoomMemberListViewController()
        )
        super.init()
        showPlaceholder()
        recents.delegate = self
        members.delegate = self
        for part in parts { part.onNeedsDisplay = { [weak self] in self?.setNeedsDisplay() } }
        recents.onNeedsDisplay = { [weak self] in self?.listChanged() }
        room.onCommand = { [weak self] in self?.carryOut($0) ?? false }
        searchResults.onSelect = { [weak self] in self?.openResult($0, $1) }
    }

    private var parts: [MXKViewController] {
        [recents, room, members, searchResults] + Array(verifications.values) + (dialog.map { [$0] } ?? [])
    }

    public override var theme: MXKTheme {
        didSet { for part in parts { part.theme = theme } }
    }

    public override var profile: WidthProfile {
        didSet { for part in parts { part.profile = profile } }
    }

    // MARK: Sessions

    /// Shows the rooms of these sessions.
    open func displayList(_ list: MXKRecentsDataSource) {
        recents.displayList(list)
        for session in list.mxSessions { addMatrixSession(session) }
        setNeedsDisplay()
    }

    /// Shows the rooms of a session too.
    open override func addMatrixSession(_ mxSession: MXSession) {
        super.addMatrixSession(mxSession)
        recents.dataSource?.addMatrixSession(mxSession)
        let userId = mxSession.ownUserId
        guard verifications[userId] == nil, let screen = MXKVerificationViewController(mxSession) else { return }
        screen.onNeedsDisplay = { [weak self] in self?.setNeedsDisplay() }
        screen.onRequest = { [weak self] in self?.room.show($0) }
        (screen.theme, screen.profile) = (theme, profile)
        verifications[userId] = screen
    }

    /// Shows nothing of a session any more.
    open override func removeMatrixSession(_ mxSession: MXSession) {
        super.removeMatrixSession(mxSession)
        let userId = mxSession.ownUserId
        verifications.removeValue(forKey: userId)?.destroy()
        if room.roomDataSource?.mxSession === mxSession {
            room.displayRoom(nil)
            members.displayList(nil)
            (recents.openRoomId, recents.openSession) = (nil, nil)
        }
        for (key, source) in sources where source.mxSession === mxSession {
            source.destroy()
            sources[key] = nil
        }
        drafts = drafts.filter { !$0.key.hasPrefix(userId + " ") }
        room.unsentThreadTexts = room.unsentThreadTexts.filter { !$0.key.hasPrefix(userId + " ") }
        lastShown.removeAll { $0.hasPrefix(userId + " ") }
        recents.dataSource?.removeMatrixSession(mxSession)
        setNeedsDisplay()
    }

    /// The one that commands are for: that of the room, or the one that the user has chosen.
    var currentSession: MXSession? {
        room.roomDataSource?.mxSession ?? mxSessions.first { $0.myUserId == chosenUserId } ?? mxSessions.first
    }

    /// The verifications of the account that commands are for; nil if its session does not encrypt.
    public var verification: MXKVerificationViewController? {
        currentSession.flatMap { verifications[$0.myUserId] }
    }

    /// A verification that is being looked at.
    var activeVerification: MXKVerificationViewController? { verifications.values.first(where: \.isActive) }

    // MARK: Dialogs

    /// Puts a dialog in the place of everything, until it is left.
    public func show(_ dialog: MXKDialogViewController) {
        (dialog.theme, dialog.profile) = (theme, profile)
        dialog.onNeedsDisplay = { [weak self] in self?.setNeedsDisplay() }
        let onClose = dialog.onClose
        dialog.onClose = { [weak self, weak dialog] in
            if let self, self.dialog === dialog { self.dialog = nil }
            onClose?()
            self?.setNeedsDisplay()
        }
        self.dialog = dialog
        setNeedsDisplay()
    }

    /// Asks before something is done that cannot be undone. What does no harm is chosen at first.
    ///
    /// - Parameter action: What the row says that does it.
    func confirm(_ title: String, _ words: [String], action: String, _ work: @escaping @MainActor () -> Void) {
        show(MXKDialogViewController(title, words: words, rows: [.init("Go back") {}, .init(action, choose: work)]))
    }

    // MARK: Rooms

    /// What is written and not sent, by user and room, and in threads by the event that they began with: for a program that
    /// keeps it.
    public var unsentTexts: [String: String] {
        get {
            room.keepText()
            var texts = drafts
            for (key, source) in sources { texts[key] = source.partialTextMessage }
            texts.merge(room.unsentThreadTexts) { $1 }
            return texts.filter { $0.value.contains { !$0.isWhitespace } }
        }
        set {
            room.unsentThreadTexts = newValue.filter { $0.key.split(separator: " ").count > 2 }
            drafts = newValue.filter { room.unsentThreadTexts[$0.key] == nil }
        }
    }

    /// Shows a room.
    open func open(_ roomId: String, in session: MXSession) {
        let key = "\(session.credentials?.userId ?? "") \(roomId)"
        let source = sources[key] ?? MXKRoomDataSource(roomId: roomId, andMatrixSession: session)
        sources[key] = source
        if source.partialTextMessage == nil { source.partialTextMessage = drafts[key] }
        lastShown.removeAll { $0 == key }
        lastShown.append(key)
        if lastShown.count > Self.maximumSources {
            let oldest = lastShown.removeFirst()
            drafts[oldest] = sources[oldest]?.partialTextMessage
            sources.removeValue(forKey: oldest)?.destroy()
        }
        room.displayRoom(source)
        (recents.openRoomId, recents.openSession) = (roomId, session)
        chosenUserId = session.ownUserId
        members.displayList(MXKRoomMemberListDataSource(roomId: roomId, andMatrixSession: session))
        if let opened = source.room, opened.summary.isMarkedUnread {
            perform("The room is still marked as unread") { try await opened.setMarkedUnread(false) }
        }
        (focus, isAmongHits) = (.room, false)
        endSearch()
        title = source.room?.displayName
        setNeedsDisplay()
    }

    private func listChanged() {
        setNeedsDisplay()
        guard opensFirstRoom, room.roomDataSource == nil else { return }
        if let first = rooms(where: { $0.roomSummary.membership == .join }).first {
            open(first.cell.roomIdentifier, in: first.session)
        }
    }

    /// The rooms of the list that fit, in its order.
    func rooms(
        where fits: (any MXKRecentCellDataStoring) -> Bool
    ) -> [(cell: any MXKRecentCellDataStoring, session: MXSession)] {
        guard let list = recents.dataSource else { return [] }
        return (0..<list.numberOfSections).flatMap { section in
            (0..<list.numberOfCells(inSection: section)).compactMap { row in
                let path = IndexPath(row: row, section: section)
                guard let cell = list.cellData(at: path), fits(cell), let session = list.getRoomAt(path)?.mxSession
                else { return nil }
                return (cell, session)
            }
        }
    }

    open func recentListViewController(
        _ recentListViewController: MXKRecentListViewController, didSelectRoom roomId: String,
        inMatrixSession mxSession: MXSession
    ) { choose(roomId, in: mxSession) }

    /// The room around a message that was found.
    private func openResult(_ roomId: String, _ eventId: String) {
        guard let session = searchResults.dataSource?.mxSession else { return }
        open(eventId, of: roomId, in: session)
        isAmongHits = true
    }

    /// The room around a message.
    func open(_ eventId: String, of roomId: String, in session: MXSession) {
        let source = MXKRoomDataSource(roomId: roomId, initialEventId: eventId, andMatrixSession: session)
        let isSameRoom = room.roomDataSource?.roomId == roomId && room.roomDataSource?.mxSession === session
        source.partialTextMessage = isSameRoom ? room.inputToolbarView.draft : nil
        room.displayRoom(source)
        room.hasRoomDataSourceOwnership = true
        room.onShowNewest = { [weak self, weak session] in
            if let session { self?.open(roomId, in: session) }
        }
        (recents.openRoomId, recents.openSession) = (roomId, session)
        (focus, isAmongHits) = (.room, false)
        setNeedsDisplay()
    }

    func endSearch() {
        search = LineEditor()
        recents.dataSource?.search(withPatterns: nil)
    }

    // MARK: Drawing and keys

    open override func draw(columns: Int, rows: Int) -> TerminalSurface { drawScreen(columns: columns, rows: rows) }

    open override func handle(_ input: TerminalInput) -> Bool {
        let text = room.inputToolbarView.draft
        defer { if room.inputToolbarView.draft != text { onDraftChange?() } }
        return handleKey(input)
    }

    open override func destroy() {
        for part in parts { part.destroy() }
        for source in sources.values { source.destroy() }
        sources = [:]
        super.destroy()
    }
}
