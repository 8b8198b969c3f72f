import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Join a room, or accept an invitation; prints the room's id.",
        discussion: """
            Example:
              pusher-cli matrix join '#lobby:example.org'
            """)

    @Argument(help: "The room: an id, an alias, or the name or part of the name of a room that you are invited to.")
    var room: String

    @Option(
        help: ArgumentHelp(
            "A server to join through, for the id of a room on another server. May be repeated.", valueName: "server"))
    var via: [String] = []

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let account = try network.matrixAccount()
        // The server resolves aliases itself and then also knows which servers to join through.
        let reference = RoomReference(room)
        let target = reference.isAlias ? room : try await reference.roomID(for: account, membership: .invite)
        let id = try await account.client.joinRoom(target, viaServers: via.isEmpty ? nil : via)
        _ = StandardOutput.write(TerminalText(id))
    }
}
