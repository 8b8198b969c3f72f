import MatrixKit
public import MatrixSDK
import TerminalUI

/// An account in the chat.
public struct MXKChatAccount {
    /// The user id.
    public var userId: String
    /// The session; `nil` while the account cannot be used.
    public var session: MXSession?
    /// A problem with the account or its connection, as a message to the user; `nil` if there is none.
    public var status: String?

    /// Creates an account for this user.
    public init(userId: String, session: MXSession? = nil, status: String? = nil) {
        (self.userId, self.session, self.status) = (userId, session, status)
    }
}

extension MXSession {
    /// The user id; empty if no user is known to be logged in.
    var ownUserId: String { credentials?.userId ?? "" }
}

/// Support for several accounts.
extension MXKChatViewController {
    /// Updates an account and shows the rooms of its session.
    public func setAccount(_ account: MXKChatAccount) {
        if let index = accounts.firstIndex(where: { $0.userId == account.userId }) {
            accounts[index] = account
        } else {
            accounts.append(account)
        }
        if let session = account.session { addMatrixSession(session) }
        setNeedsDisplay()
    }

    /// Updates the connection status of an account; `nil` if all is well.
    public func setStatus(_ status: String?, ofAccount userId: String) {
        guard let index = accounts.firstIndex(where: { $0.userId == userId }), accounts[index].status != status else {
            return
        }
        accounts[index].status = status
        setNeedsDisplay()
    }

    /// Removes an account that is logged out.
    public func removeAccount(_ userId: String) {
        guard let index = accounts.firstIndex(where: { $0.userId == userId }) else { return }
        let account = accounts.remove(at: index)
        if let session = account.session { removeMatrixSession(session) }
        if chosenUserId == userId { chosenUserId = nil }
        setNeedsDisplay()
    }

    /// The connection problems of the accounts on one line; `nil` if there are none.
    var connection: String? {
        let troubles = accounts.compactMap { account in
            account.status.map { accounts.count == 1 ? $0 : "\(account.userId): \($0)" }
        }
        return troubles.isEmpty ? nil : troubles.joined(separator: "  ")
    }

    /// `/account`: shows the accounts or switches to the named one.
    func chooseAccount(_ name: String) {
        guard !name.isEmpty else {
            let rows = accounts.map { account in
                let isCurrent = account.userId == currentSession?.ownUserId
                let words = "\(isCurrent ? "●" : " ") \(account.userId)  \(account.status ?? "connected")"
                return MXKDialogViewController.Row(words) { [weak self] in self?.goToAccount(account.userId) }
            }
            let words = ["Enter goes to its newest room. To log in with one more: pusher-cli matrix login --add."]
            return show(MXKDialogViewController("Accounts", words: words, rows: rows))
        }
        guard let account = accounts.first(where: { $0.userId == name || $0.userId.hasPrefix("@\(name):") }) else {
            room.inputToolbarView.textMessage = "/account \(name)"
            room.inputToolbarView.hint = "\(name) is not logged in. /account alone shows who is."
            return
        }
        goToAccount(account.userId)
    }

    private func goToAccount(_ userId: String) {
        guard let account = accounts.first(where: { $0.userId == userId }) else { return }
        guard let session = account.session else {
            room.show("Trying \(userId) again…")
            onRetryAccount?(userId)
            return
        }
        guard let first = rooms(where: { $0.roomSummary.membership == .join }).first(where: { $0.session === session })
        else {
            chosenUserId = userId
            room.displayRoom(nil)
            members.displayList(nil)
            (recents.openRoomId, recents.openSession) = (nil, nil)
            room.show("\(userId) is in no room yet: /join or /rooms finds one.")
            return
        }
        open(first.cell.roomIdentifier, in: first.session)
    }

    /// `/logout`
    func logOut() {
        guard let userId = currentSession?.ownUserId else { return }
        var words = ["\(userId) is logged out here, and what is stored of it is deleted: rooms, messages, drafts."]
        if currentSession?.crypto != nil {
            words.append("Its keys go too. Encrypted messages cannot be read again without a backup, or /keys export.")
        }
        confirm("Log out", words, action: "Log out") { [weak self] in self?.onLogout?(userId) }
    }
}
