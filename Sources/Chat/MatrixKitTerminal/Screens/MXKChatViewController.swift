public import Foundation
public import MatrixKit
import MatrixProtocol
public import MatrixSDK
public import TerminalUI

/// A complete chat: the rooms of all accounts, one room, and its members if there is enough space.
///
/// Below 60 columns it shows one of the three at a time, from 100 columns on all of them.
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

    /// The room list.
    public let recents: MXKRecentListViewController
    /// The room.
    public let room: MXKRoomViewController
    /// The member list of the room.
    public let members: MXKRoomMemberListViewController
    /// The search results, shown in place of the room.
    public let searchResults = MXKSearchViewController()
    /// A question or list that covers everything else; `nil` if there is none.
    public private(set) var dialog: MXKDialogViewController?
    /// Whether images may be downloaded and shown if the settings allow it. The default is false.
    public var allowsImages = false { didSet { applySettings() } }
    /// Called when the user wants to quit.
    public var onQuit: (@MainActor () -> Void)?
    /// Called to redraw the whole screen.
    public var onRepaint: (@MainActor () -> Void)?
    /// Called to turn mouse reports on or off.
    public var onMouse: (@MainActor (Bool) -> Void)?
    /// Called to show images as pixels, or as half blocks.
    public var onGraphics: (@MainActor (Bool) -> Void)?
    /// Called with a file to open in another program. If `nil`, files cannot be opened.
    public var onOpenFile: (@MainActor (URL) async throws -> Void)?
    /// Called to log out an account after the user has confirmed.
    public var onLogout: (@MainActor (_ userId: String) -> Void)?
    /// Called to retry an account that could not be used.
    public var onRetryAccount: (@MainActor (_ userId: String) -> Void)?
    /// The logged-in accounts in their order on the screen: see ``setAccount(_:)``.
    public internal(set) var accounts: [MXKChatAccount] = []
    /// Whether to show the first room of the list as soon as there is one, if no room is shown. The default is false.
    public var opensFirstRoom = false { didSet { listChanged() } }
    /// Called with a link to open. Only a few schemes are allowed.
    public var onOpenLink: (@MainActor (URL) async throws -> Void)?
    /// Called with sanitised text for the clipboard.
    public var onCopy: (@MainActor (String) -> Void)?
    /// Called to edit the draft in an external editor; returns the edited text.
    public var onEditor: (@MainActor (String) async throws -> String)?
    /// Called when the unsent text has changed.
    public var onDraftChange: (@MainActor () -> Void)?
    /// The key map and the user's other settings.
    public var settings = MXKChatSettings() { didSet { applySettings() } }
    /// Whether to show members if there is enough space.
    public var showsMembers = true { didSet { setNeedsDisplay() } }

    var focus = Focus.room
    var search = LineEditor()
    var isHelpShown = false
    /// Whether a search hit is shown in its room and `n` goes to the next one.
    var isAmongHits = false {
        didSet { room.hint = isAmongHits ? "\(searchResults.position): n next, N previous" : nil }
    }
    var helpLine = 0
    /// The text when Ctrl-C was pressed; pressing it again quits. `nil` after any other key.
    var textAtLeaving: String?
    var reportsMouse = false
    var showsGraphics = true
    var columns = 0
    /// The account that commands apply to when no room is shown.
    var chosenUserId: String?
    private var verifications: [String: MXKVerificationViewController] = [:]
    private var sources: [String: MXKRoomDataSource] = [:]
    private var drafts: [String: String] = [:]
    /// The rooms in the order in which they were shown, latest last.
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

    /// Adds the rooms of a session.
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

    /// Removes the rooms of a session.
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

    /// The session that commands apply to: that of the room, or the one that the user has selected.
    var currentSession: MXSession? {
        room.roomDataSource?.mxSession ?? mxSessions.first { $0.myUserId == chosenUserId } ?? mxSessions.first
    }

    /// The verifications of the account that commands apply to; `nil` if its session does not encrypt.
    public var verification: MXKVerificationViewController? {
        currentSession.flatMap { verifications[$0.myUserId] }
    }

    /// The verification on screen.
    var activeVerification: MXKVerificationViewController? { verifications.values.first(where: \.isActive) }

    // MARK: Dialogs

    /// Shows a dialog over everything else until it is closed.
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

    /// Asks for confirmation of an action that cannot be undone. The harmless answer is selected first.
    ///
    /// - Parameter action: The label of the confirming row.
    func confirm(_ title: String, _ words: [String], action: String, _ work: @escaping @MainActor () -> Void) {
        show(MXKDialogViewController(title, words: words, rows: [.init("Go back") {}, .init(action, choose: work)]))
    }

    // MARK: Rooms

    /// The unsent texts by user and room, and in threads by the event that started them, for a program that stores
    /// them.
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

    /// Returns the matching rooms of the list, in its order.
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

    /// Shows the room around a search result.
    private func openResult(_ roomId: String, _ eventId: String) {
        guard let session = searchResults.dataSource?.mxSession else { return }
        open(eventId, of: roomId, in: session)
        isAmongHits = true
    }

    /// Shows the room around a message.
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
