import MatrixKit
public import MatrixSDK
import TerminalUI

/// The member list beside the room.
extension MXKChatViewController: MXKRoomMemberListViewControllerDelegate {
    /// Focuses the member list, or hides it if it has the focus.
    func goToMembers() {
        guard focus != .members else {
            focus = .room
            return change(MXKChatSettings.Toggle.members.rawValue, to: settings[.members] ? "off" : "on")
        }
        guard room.roomDataSource != nil else { return room.show("No room is shown.") }
        focus = .members
    }

    func handleInMembers(_ input: TerminalInput) -> Bool {
        if input == .escape {
            focus = .room
            return true
        }
        return members.handle(input)
    }

    /// Asks what to do with a member.
    public func roomMemberListViewController(
        _ roomMemberListViewController: MXKRoomMemberListViewController, didSelectMember member: MXRoomMember
    ) {
        guard let target = currentRoom, let session = target.mxSession else { return }
        let user = member.userId
        let name = member.displayname ?? user
        var rows: [MXKDialogViewController.Row] = [
            .init("Mention") { [weak self] in
                self?.focus = .room
                self?.room.mention(member)
            }
        ]
        if user != session.ownUserId {
            rows.append(.init("Message") { [weak self] in self?.openDirect(user, session) })
            rows.append(
                .init("Verify") { [weak self] in
                    guard let verification = self?.verification else {
                        self?.room.show("This session does not encrypt: there is nothing to verify.")
                        return
                    }
                    verification.begin(with: user)
                })
            let isIgnored = session.ignoredUsers.contains(user)
            rows.append(
                .init(isIgnored ? "Ignore no more" : "Ignore") { [weak self] in
                    self?.setIgnored(!isIgnored, user, session)
                })
            rows.append(
                .init("Kick…") { [weak self] in
                    self?.confirm("Remove \(name)?", ["\(user) may come back."], action: "Remove") {
                        self?.perform("\(user) was not removed") { try await target.kickUser(user) }
                    }
                })
            rows.append(
                .init("Ban…") { [weak self] in
                    self?.confirm("Ban \(name)?", ["\(user) may not come back."], action: "Ban") {
                        self?.perform("\(user) was not banned") { try await target.banUser(user) }
                    }
                })
        }
        let level = target.state?.powerLevels.powerLevelOfUser(withUserID: user)
        let words = [user] + (level.map { ["Power level \($0)"] } ?? [])
        show(MXKDialogViewController(name, words: words, rows: rows))
    }
}
