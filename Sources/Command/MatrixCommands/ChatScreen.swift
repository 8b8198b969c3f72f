import Basics
import CommandKit
import Foundation
import MatrixKit
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK
import TerminalUI

/// A full-screen view of the chats of all accounts.
@MainActor
final class ChatScreen {
    private let accounts: [MatrixAccount]
    private let screen = MXKChatViewController()
    private let program: ScreenProgram
    private var chats: [String: MatrixChat] = [:]
    private var observers: [String: UUID] = [:]
    private var statuses: [String: ConnectionStatus] = [:]
    private var lastNotice: ContinuousClock.Instant?
    private let drafts = ChatDrafts()
    private var draftTimer: Task<Void, Never>?
    private let settings = MXKChatSettings(file: MXKChatSettings.standardFile)

    /// The delay between the last key and saving the draft.
    private static let draftDelay = Duration.milliseconds(500)

    /// - Parameters:
    ///   - accounts: The accounts in display order.
    ///   - theme: Overrides the configured theme; `nil` uses that one, or one that matches the terminal.
    init(_ accounts: [MatrixAccount], theme: MXKTheme?, reportsMouse: Bool, showsImages: Bool) {
        self.accounts = accounts
        screen.allowsImages = showsImages
        program = ScreenProgram(
            screen, theme: theme ?? settings.theme, reportsMouse: reportsMouse || settings[.mouse])
    }

    func run(_ room: RoomReference?) async throws {
        MXKAttachment.deleteOrphans()
        try await openAccounts()
        wire()
        StandardError.screen.withLock { screenWrite in
            screenWrite = { [weak screen] line in Task { @MainActor in screen?.room.show(line.text) } }
        }
        screen.unsentTexts = drafts.read()
        defer {
            StandardError.screen.withLock { $0 = nil }
            keepDrafts()
            for user in Array(chats.keys) { forget(user) }
            screen.destroy()
        }
        screen.displayList(MXKRecentsDataSource(matrixSession: nil))
        for account in accounts { begin(account) }
        if let trouble = settings.trouble { screen.room.show(trouble) }
        openFirst(room)
        for chat in chats.values { chat.start() }
        try await program.run()
    }

    private func wire() {
        screen.onQuit = { [program] in program.quit() }
        screen.onRepaint = { [program] in program.terminal.repaint() }
        screen.onMouse = { [program] in program.terminal.setReportsMouse($0) }
        screen.onGraphics = { [program] in program.terminal.setShowsPixels($0) }
        screen.onCopy = { [program] in program.terminal.copy($0) }
        screen.onOpenLink = { try await UserProgram.open($0) }
        screen.onOpenFile = { try await UserProgram.openFile($0) }
        screen.onEditor = { [program] in try await UserProgram.edit($0, on: program.terminal) }
        screen.onDraftChange = { [weak self] in self?.draftsChanged() }
        screen.onLogout = { [weak self] in self?.logOut($0) }
        screen.onRetryAccount = { [weak self] in self?.retry($0) }
        screen.settings = settings
    }

    // MARK: Accounts

    /// Opens the accounts. One that another process uses does not block the others.
    private func openAccounts() async throws {
        guard accounts.count > 1 else {
            if let account = accounts.first { chats[account.userID] = try await MatrixChat.open(account) }
            return
        }
        for account in accounts {
            chats[account.userID] = try? await MatrixChat.open(account, patience: .zero)
        }
    }

    /// Shows an account, and its session if it could be opened.
    private func begin(_ account: MatrixAccount) {
        let user = account.userID
        guard let chat = chats[user] else {
            return screen.setAccount(MXKChatAccount(userId: user, status: "in use by \(account.store.ownerName)"))
        }
        let (session, server) = (chat.session, account.serverName)
        screen.setAccount(MXKChatAccount(userId: user, session: session, status: "Connecting to \(server)…"))
        let states = session.states
        statuses[user] = ConnectionStatus(server)
        Task { [weak self] in
            for await state in states {
                guard let self else { return }
                self.changeStatus(of: user) { $0.changed(to: state) }
            }
        }
        observe(session, user)
    }

    private func changeStatus(of user: String, _ change: (inout ConnectionStatus) -> Void) {
        guard var status = statuses[user] else { return }
        change(&status)
        statuses[user] = status
        screen.setStatus(status.words, ofAccount: user)
    }

    private func retry(_ user: String) {
        guard let account = accounts.first(where: { $0.userID == user }), chats[user] == nil else { return }
        Task {
            do {
                let chat = try await MatrixChat.open(account)
                guard chats[user] == nil else { return chat.close() }
                chats[user] = chat
                begin(account)
                chat.start()
            } catch {
                screen.room.show(Complaint.text(error))
            }
        }
    }

    private func logOut(_ user: String) {
        guard let chat = chats[user] else { return }
        Task {
            do {
                try await chat.logOut()
                forget(user)
                screen.removeAccount(user)
                if chats.isEmpty { program.quit() } else { screen.room.show("\(user) is logged out.") }
            } catch {
                screen.room.show("\(user) is not logged out: \(Complaint.text(error))")
            }
        }
    }

    private func forget(_ user: String) {
        guard let chat = chats.removeValue(forKey: user) else { return }
        statuses[user] = nil
        if let observer = observers.removeValue(forKey: user) { chat.session.stopObserving(observer) }
        chat.close()
    }

    // MARK: Drafts

    private func draftsChanged() {
        draftTimer?.cancel()
        draftTimer = Task { [weak self] in
            guard (try? await Task.sleep(for: Self.draftDelay)) != nil else { return }
            self?.keepDrafts()
        }
    }

    /// Saves unsent texts for the next start.
    private func keepDrafts() {
        draftTimer?.cancel()
        do {
            try drafts.write(screen.unsentTexts, of: Array(chats.keys))
        } catch {
            StandardError.write("warning: what you had written is not kept: \(error)")
        }
    }

    // MARK: The first room

    /// Opens the requested room, or the one with the newest message: at once if it is stored, otherwise when it
    /// arrives.
    private func openFirst(_ wanted: RoomReference?) {
        guard let wanted else {
            screen.opensFirstRoom = true
            return
        }
        let opened = accounts.compactMap { chats[$0.userID] }
        for chat in opened {
            let stored = wanted.isID ? wanted.text : wanted.stored(for: chat.account)?.roomId
            if let stored, chat.session.room(withRoomId: stored) != nil {
                return screen.open(stored, in: chat.session)
            }
        }
        guard let chat = opened.first else { return }
        Task {
            do {
                if chat.session.rooms.isEmpty { try await chat.session.start() }
                let room = try await wanted.room(in: chat.session, for: chat.account)
                screen.open(room.roomId, in: chat.session)
            } catch {
                screen.room.show("\(Complaint.text(error))")
            }
        }
    }

    // MARK: Notices

    /// Notifies through the terminal as the push rules say, except for the room on screen. Failures appear in the
    /// status.
    private func observe(_ session: MXSession, _ user: String) {
        observers[user] = session.observeReports { [weak self] report in
            switch report {
            case .stateChanged, .sendingChanged: break
            case .failed(let error, let delay):
                Task { @MainActor in self?.changeStatus(of: user) { $0.failed(error, retryAfter: delay) } }
            case .notices(let notices):
                guard session.state == .running else { return }
                for case .live(let live) in notices where live.push.notify && live.event.sender != user {
                    let (roomId, sender) = (live.roomId, live.event.sender)
                    Task { @MainActor in self?.notify(of: sender, in: roomId, session) }
                }
            }
        }
    }

    private func notify(of sender: String, in roomId: String, _ session: MXSession) {
        let shown = screen.room.roomDataSource
        if screen.room.hasTerminalFocus, shown?.roomId == roomId, shown?.mxSession === session { return }
        let room = session.room(withRoomId: roomId)
        let name = room?.state?.members.memberName(sender) ?? sender
        // At most one per second.
        let now = ContinuousClock.now
        if let last = lastNotice, now < last + .seconds(1) { return }
        lastNotice = now
        program.terminal.ringBell()
        program.terminal.notify(PeerText("\(name) in \(room?.displayName ?? roomId)").line(limit: 100), from: "Matrix")
    }
}
