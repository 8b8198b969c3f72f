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
        for room in try await matrix.account().rooms() where [.join, .invite].contains(room.membership) {
            guard output.write(RoomRecord(room: room)) else { return }
        }
    }
}
