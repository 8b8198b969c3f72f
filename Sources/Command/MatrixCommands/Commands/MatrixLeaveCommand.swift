import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixLeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Leave a room, or decline an invitation.",
        discussion: """
            Example:
              pusher-cli matrix leave '#lobby:example.org' --reason 'see you'
            """)

    @Argument(
        help:
            "The room: an id, an alias, or the name or part of the name of a room that you are in; for an invitation, the id."
    )
    var room: String

    @Option(help: "The reason; everyone in the room can see it.")
    var reason: String?

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let account = try network.matrixAccount()
        try await account.client.leaveRoom(try await RoomReference(room).roomID(for: account), reason: reason)
    }
}
