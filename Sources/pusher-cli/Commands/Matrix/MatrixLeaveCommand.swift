import ArgumentParser
import MatrixSDK

struct MatrixLeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Leave a room, or decline an invitation.",
        discussion: """
            Example:
              pusher-cli matrix leave '#lobby:example.org' --reason 'see you'
            """)

    @Argument(help: "An id, an alias, or the name of a room that you are in; of an invitation the id.")
    var room: String

    @Option(help: "Why; the others see it.")
    var reason: String?

    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        try await ExitStatus.reportingMatrix {
            let account = try matrix.account()
            try await account.client.leaveRoom(try await RoomReference(room).roomID(for: account), reason: reason)
        }
    }
}
