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

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        for room in try await matrix.account().rooms() where [.join, .invite].contains(room.membership) {
            guard RoomRecord(room: room).write(asJSON: json) else { return }
        }
    }
}
