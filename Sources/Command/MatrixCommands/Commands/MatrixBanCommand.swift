import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixBanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban", abstract: "Remove users from a room, and keep them out.",
        discussion: """
            Users can be banned before they ever join. Tries every user, even if one is refused.

            Example:
              pusher-cli matrix ban '#lobby:example.org' @spam:example.net --reason spam
            """)

    @OptionGroup var target: RoomUsersArguments

    @Option(help: "The reason; everyone in the room can see it.")
    var reason: String?

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        try await target.each(as: network.matrixAccount(), notDone: "is not banned") { client, user, roomID in
            try await client.banUser(user, fromRoom: roomID, reason: reason)
        }
    }
}
