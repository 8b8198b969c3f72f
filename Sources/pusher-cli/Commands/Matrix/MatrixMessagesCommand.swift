import ArgumentParser
import Foundation
import MatrixProtocol
import MatrixSDK

struct MatrixMessagesCommand: AsyncParsableCommand {
    private static let pageSize = 100
    /// Servers may give pages without messages, but not for ever.
    private static let maximumEmptyPages = 100

    static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "Print a room's newest messages, oldest first.",
        discussion: """
            Edited messages read as they read now.

            Example:
              pusher-cli matrix messages '#lobby:example.org' --limit 50
            """)

    @Argument(help: "An id, an alias, or the name of a room that you are in.")
    var room: String

    @Option(help: "How many at most.")
    var limit = 20

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit is 1 to 10000.") }
    }

    func run() async throws {
        try await ExitStatus.reportingMatrix {
            let account = try matrix.account()
            let roomID = try await RoomReference(room).roomID(for: account)
            var names: [String: String] = [:]
            for event in try await newest(in: roomID, account.client).reversed() {
                var record = MessageRecord(event)
                if !json {
                    // Who has left is no member any more, and keeps the id as name.
                    if names.isEmpty {
                        names = try await account.client.joinedMembers(ofRoom: roomID).compactMapValues(\.displayName)
                    }
                    record.senderName = names[event.sender]
                }
                guard record.write(asJSON: json) else { return }
            }
        }
    }

    /// Newest first.
    private func newest(in roomID: String, _ client: MXRestClient) async throws -> [MXEvent] {
        var messages: [MXEvent] = []
        var token: String?
        var emptyPages = 0
        repeat {
            let count = messages.count
            let page = try await client.messages(
                forRoom: roomID, from: token, limit: min(max(limit, 20), Self.pageSize),
                filter: #"{"types":["m.room.message","m.room.encrypted","m.sticker"],"lazy_load_members":true}"#)
            messages += page.chunk.filter { $0.wireContent["m.relates_to"]?["rel_type"]?.string != "m.replace" }
            token = page.end == token ? nil : page.end
            emptyPages = messages.count > count ? 0 : emptyPages + 1
            guard emptyPages < Self.maximumEmptyPages else {
                let what = "the server gave \(emptyPages) pages without a message"
                guard !messages.isEmpty else { throw CommandFailure(.unavailable, what) }
                StandardError.write("warning: \(what); older messages are not shown")
                break
            }
        } while messages.count < limit && token != nil
        return Array(messages.prefix(limit))
    }
}
