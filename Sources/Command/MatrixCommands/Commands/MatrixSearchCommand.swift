import ArgumentParser
import CommandKit
import Foundation
import MatrixSDK

struct MatrixSearchCommand: AsyncParsableCommand {
    private static let pageSize = 100

    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Find messages by their text, newest first.",
        discussion: """
            The homeserver searches the rooms that you are in. It cannot read encrypted rooms, so it finds nothing \
            there.

            Examples:
              pusher-cli matrix search 'release notes'
              pusher-cli matrix search deploy --room '#ops:example.org' --limit 5 --json
            """)

    @Argument(help: "The words to find.")
    var text: String

    @Option(
        help: "Search only this room: an id, an alias, or the name or part of the name of a room that you are in.",
        completion: RoomReference.completion)
    var room: String?

    @Option(help: "Print at most this many messages.")
    var limit = 20

    @OptionGroup var output: OutputOptions

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard text.contains(where: { !$0.isWhitespace }) else { throw ValidationError("Give a text to search for.") }
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit must be 1 to 10000.") }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        var rooms: [String]?
        if let room { rooms = [try await RoomReference(room).roomID(for: account)] }
        let found = try await results(in: rooms, account.client)
        if found.isEmpty, !output.json, StandardOutput.isTerminal { StandardError.write("nothing was found") }
        let summaries = output.json ? [] : try await account.rooms()
        let encrypted = summaries.count { $0.isEncrypted && rooms?.contains($0.roomId) ?? true }
        if encrypted > 0 {
            StandardError.write(
                "\(encrypted == 1 ? "1 room is" : "\(encrypted) rooms are") encrypted and cannot be searched")
        }
        let names = Dictionary(summaries.map { ($0.roomId, $0.displayName) }) { name, _ in name }
        for result in found {
            var record = MessageRecord(result.event)
            if !output.json {
                let roomID = result.event.roomId ?? ""
                record.roomName = names[roomID] ?? roomID
                record.senderName = result.profiles[result.event.sender]?.displayName
            }
            guard output.write(record) else { return }
        }
    }

    private func results(in rooms: [String]?, _ client: MXRestClient) async throws -> [MXSearchResults.Result] {
        try await Pages.messages(limit: limit) { token in
            let page = try await client.searchMessages(
                text, inRooms: rooms, limit: min(limit, Self.pageSize), nextBatch: token)
            return (page.results, page.nextBatch)
        }
    }
}
