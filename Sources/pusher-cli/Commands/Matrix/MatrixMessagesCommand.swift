import ArgumentParser
import Foundation
import MatrixProtocol
import MatrixSDK

struct MatrixMessagesCommand: AsyncParsableCommand {
    private static let pageSize = 100

    static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "Print a room's newest messages, oldest first.",
        discussion: """
            Shows the latest version of edited messages.

            Example:
              pusher-cli matrix messages '#lobby:example.org' --limit 50
            """)

    @OptionGroup var room: RoomArgument

    @Option(help: "The most messages to print.")
    var limit = 20

    @OptionGroup var output: OutputOptions

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit must be 1 to 10000.") }
    }

    func run() async throws {
        let account = try matrix.account()
        let roomID = try await room.id(for: account)
        var names: [String: String] = [:]
        for event in try await newest(in: roomID, account.client).reversed() {
            var record = MessageRecord(event)
            if !output.json {
                // Who has left is no member any more, and keeps the id as name.
                if names.isEmpty {
                    names = try await account.client.joinedMembers(ofRoom: roomID).compactMapValues(\.displayName)
                }
                record.senderName = names[event.sender]
            }
            guard output.write(record) else { return }
        }
    }

    /// Newest first.
    private func newest(in roomID: String, _ client: MXRestClient) async throws -> [MXEvent] {
        try await Pages.messages(limit: limit) { token in
            let page = try await client.messages(
                forRoom: roomID, from: token, limit: min(max(limit, 20), Self.pageSize),
                filter: #"{"types":["m.room.message","m.room.encrypted","m.sticker"],"lazy_load_members":true}"#)
            let messages = page.chunk.filter { $0.wireContent["m.relates_to"]?["rel_type"]?.string != "m.replace" }
            return (messages, page.end)
        }
    }
}
