import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixKickCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kick", abstract: "Remove users from a room.",
        discussion: """
            They can come back if the room lets them. A user who has not joined yet loses the invitation. Tries every \
            user, even if one is refused.

            Example:
              pusher-cli matrix kick '#lobby:example.org' @bob:example.org --reason spam
            """)

    @OptionGroup var target: RoomUsersArguments

    @Option(help: "The reason; everyone in the room can see it.")
    var reason: String?

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        try await target.each(as: network.matrixAccount(), notDone: "is not removed") { client, user, roomID in
            try await client.kickUser(user, fromRoom: roomID, reason: reason)
        }
    }
}
