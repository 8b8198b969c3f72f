import ArgumentParser
import MatrixSDK

struct MatrixInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite users to a room.",
        discussion: """
            Tries every user, even if one is refused.

            Example:
              pusher-cli matrix invite '#ops:example.org' @bob:example.org @eve:example.org
            """)

    @OptionGroup var target: RoomUsersArguments

    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        try await target.each(as: matrix.account(), notDone: "is not invited") { client, user, roomID in
            try await client.inviteUser(user, toRoom: roomID)
        }
    }
}
