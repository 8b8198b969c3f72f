import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixRoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms", abstract: "List the rooms that you are in or invited to.",
        discussion: """
            The room with the newest message comes first. Asks the homeserver for what is new since the last command, \
            or for everything the first time.

            Examples:
              pusher-cli matrix rooms --json
              pusher-cli matrix rooms --offline
            """)

    @Flag(help: "List the rooms as of the last command that asked the homeserver, without asking it again.")
    var offline = false

    @OptionGroup var output: OutputOptions

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let account = try network.matrixAccount()
        let rooms = offline ? try account.store.rooms() : try await account.rooms()
        _ = output.write(
            rooms.filter { [.join, .invite].contains($0.membership) }.map(RoomRecord.init),
            none: "you are in no room: pusher-cli matrix join ROOM joins one")
    }
}
