import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixUnbanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unban", abstract: "Let banned users join a room again.",
        discussion: """
            It does not invite them. Tries every user, even if one is refused.

            Example:
              pusher-cli matrix unban '#lobby:example.org' @bob:example.org
            """)

    @OptionGroup var target: RoomUsersArguments

    @Option(help: "The reason; everyone in the room can see it.")
    var reason: String?

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        try await target.each(as: network.matrixAccount(), notDone: "is not unbanned") { client, user, roomID in
            try await client.unbanUser(user, fromRoom: roomID, reason: reason)
        }
    }
}
