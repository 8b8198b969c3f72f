import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite users to a room.",
        discussion: """
            Tries every user, even if one is refused. In an encrypted room whose history new members may read, they are given \
            the keys of the messages that you can read.

            Example:
              pusher-cli matrix invite '#ops:example.org' @bob:example.org @eve:example.org
            """)

    @OptionGroup var target: RoomUsersArguments

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let account = try network.matrixAccount()
        try await target.each(as: account, notDone: "is not invited") { client, user, roomID in
            guard try await account.isEncrypted(roomID) else {
                return try await client.inviteUser(user, toRoom: roomID)
            }
            do {
                try await account.withRoomKeys { keys in
                    if let reason = try await keys.invite(user, to: roomID) { warn(user, reason) }
                }
            } catch let failure as CommandFailure where failure.lacksKeys {
                warn(user, failure.description)
                try await client.inviteUser(user, toRoom: roomID)
            }
        }
    }

    private func warn(_ user: String, _ reason: String) {
        StandardError.write("warning: \(user) is invited without the keys of earlier messages: \(reason)")
    }
}
