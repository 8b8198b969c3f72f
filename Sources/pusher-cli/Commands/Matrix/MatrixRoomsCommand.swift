import ArgumentParser
import MatrixSDK

struct MatrixRoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms", abstract: "List the rooms that you are in or invited to.",
        discussion: """
            The room with the newest message comes first.

            Example:
              pusher-cli matrix rooms --json
            """)

    @OptionGroup var output: OutputOptions

    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        let rooms = try await matrix.account().rooms().filter { [.join, .invite].contains($0.membership) }
        _ = output.write(rooms.map(RoomRecord.init))
    }
}
