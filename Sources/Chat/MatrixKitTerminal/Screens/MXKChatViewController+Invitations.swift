import MatrixKit
import MatrixProtocol
import MatrixSDK
import TerminalUI

/// Invitations, with a confirmation before joining.
extension MXKChatViewController {
    /// Shows a room; asks first if it is an invitation.
    func choose(_ roomId: String, in session: MXSession) {
        guard let invited = session.room(withRoomId: roomId), invited.summary.membership == .invite else {
            return open(roomId, in: session)
        }
        askAboutInvitation(invited, session)
    }

    private func askAboutInvitation(_ invited: MXRoom, _ session: MXSession) {
        guard let summary = invited.summary else { return }
        let inviter = summary.inviter
        let name = inviter.flatMap { invited.state?.members.member(withUserId: $0)?.displayname }
        let who = [name, inviter].compactMap { $0 }.joined(separator: ", ")
        var words = ["From \(who.isEmpty ? "somebody unknown" : who), to \(accountWords(session))."]
        if summary.isDirect { words.append("A direct chat.") }
        if let topic = summary.topic { words.append("Topic: \(topic)") }
        words.append("Room id: \(summary.roomId)")
        let rows: [MXKDialogViewController.Row] = [
            .init("Decide later") {},
            .init("Accept") { [weak self] in self?.accept(invited, session) },
            .init("Decline") { [weak self] in self?.decline(invited, session) },
            .init("Decline, and ignore \(inviter ?? "")") { [weak self] in
                self?.decline(invited, session)
                if let inviter { self?.setIgnored(true, inviter, session) }
            },
        ]
        show(
            MXKDialogViewController(
                "Invitation to \(invited.displayName)", words: words, rows: inviter == nil ? rows.dropLast() : rows))
    }

    private func accountWords(_ session: MXSession) -> String { accounts.count > 1 ? session.ownUserId : "you" }

    private func accept(_ invited: MXRoom, _ session: MXSession) {
        let roomId = invited.roomId
        perform("The invitation was not accepted") { [weak self] in
            _ = try await session.joinRoom(roomId)
            self?.open(roomId, in: session)
        }
    }

    private func decline(_ invited: MXRoom, _ session: MXSession) {
        let name = invited.displayName
        perform("The invitation was not declined") { [weak self] in
            try await session.leaveRoom(invited.roomId)
            self?.room.show("The invitation to \(name) is declined.")
        }
    }

    /// `/invites`
    func showInvitations() {
        let rows = rooms(where: { $0.roomSummary.membership == .invite }).map { found in
            let words =
                "\(found.cell.roomDisplayname ?? found.cell.roomIdentifier)  \(found.cell.roomSummary.inviter ?? "")"
            return MXKDialogViewController.Row(words) { [weak self] in
                self?.choose(found.cell.roomIdentifier, in: found.session)
            }
        }
        let dialog = MXKDialogViewController("Invitations", rows: rows)
        dialog.placeholder = "Nobody has invited you."
        show(dialog)
    }

    /// `/ignore` and `/unignore`: hides a user's messages and invitations, or shows them again.
    func setIgnored(_ isIgnored: Bool, _ userId: String, _ session: MXSession) {
        perform("\(userId) is \(isIgnored ? "not ignored" : "still ignored")") { [weak self] in
            let old = try await session.matrixRestClient.accountData(ofType: "m.ignored_user_list")
            var content = old?.foundation as? [String: Any] ?? [:]
            var users = content["ignored_users"] as? [String: Any] ?? [:]
            users[userId] = isIgnored ? [String: Any]() : nil
            content["ignored_users"] = users
            try await session.matrixRestClient.setAccountData(content, ofType: "m.ignored_user_list")
            self?.room.show("\(userId) is \(isIgnored ? "ignored" : "ignored no more").")
        }
    }

    /// Runs the work and shows an error.
    func perform(_ failure: String, _ work: @escaping @MainActor () async throws -> Void) {
        Task { [weak self] in
            do {
                try await work()
            } catch {
                self?.room.show("\(failure): \(error)")
            }
        }
    }
}
