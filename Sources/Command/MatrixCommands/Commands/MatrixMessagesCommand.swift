import ArgumentParser
import CommandKit
import Foundation
import MatrixProtocol
import MatrixSDK

struct MatrixMessagesCommand: AsyncParsableCommand {
    private static let pageSize = 100
    /// The maximum number of messages requested one by one to name their authors.
    private static let maximumAnswered = 100
    private static let filter = #"""
        {"types":["m.room.message","m.room.encrypted","m.sticker","m.poll.start","org.matrix.msc3381.poll.start"],\#
        "lazy_load_members":true}
        """#

    static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "Print a room's newest messages, oldest first.",
        discussion: """
            Shows the latest version of edited messages, and the results of polls. Says which messages are replies or \
            belong to a thread. Hides spoilers; with --json they are in "content", but not in "text".

            Example:
              pusher-cli matrix messages '#lobby:example.org' --limit 50
            """)

    @OptionGroup var room: RoomArgument

    @Option(help: "Print at most this many messages.")
    var limit = 20

    @OptionGroup var output: OutputOptions

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit must be 1 to 10000.") }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        let roomID = try await room.id(for: account)
        let read = try await account.read(newest(in: roomID, account.client), in: roomID)
        let events = read.map(\.event)
        // Former members are not listed and keep their ids as names.
        let names =
            output.json || events.isEmpty
            ? [:] : try await account.client.joinedMembers(ofRoom: roomID).compactMapValues(\.displayName)
        let authors = output.json ? [:] : await authors(ofAnswered: events, in: roomID, account.client)
        for one in read.reversed() {
            let event = one.event
            var record = MessageRecord(event)
            record.shield = one.shield
            record.senderName = names[event.sender]
            record.context.repliedTo = event.replyToEventId.flatMap { authors[$0] }.map { names[$0] ?? $0 }
            if case .poll = record.content { try await count(&record, in: roomID, account) }
            guard output.write(record) else { return }
        }
    }

    /// Returns the authors of the messages being replied to, by message id.
    private func authors(ofAnswered events: [MXEvent], in roomID: String, _ client: MXRestClient) async
        -> [String: String]
    {
        var authors = Dictionary(events.map { ($0.eventId, $0.sender) }) { $1 }
        var missing = Set(events.compactMap(\.replyToEventId)).subtracting(authors.keys).sorted()[...]
        missing = missing.prefix(Self.maximumAnswered)
        for id in missing {
            // The message may be gone or not visible to the user; its id is shown instead.
            authors[id] = try? await client.event(withId: id, inRoom: roomID).sender
        }
        return authors
    }

    private func count(_ record: inout MessageRecord, in roomID: String, _ account: MatrixAccount) async throws {
        let sender = record.event.sender
        let votes = try await account.client.votes(onPoll: record.event.eventId, inRoom: roomID)
        let isEndedByOthers = votes.contains { $0.pollPart == .end && $0.sender != sender }
        // Servers of rooms that can only be previewed may refuse this.
        let levels = isEndedByOthers ? try? await account.client.powerLevels(ofRoom: roomID) : nil
        record.count(votes, currentUser: account.userID) { levels?.mayEndPolls($0) ?? false }
    }

    /// Returns the messages, newest first.
    private func newest(in roomID: String, _ client: MXRestClient) async throws -> [MXEvent] {
        try await Pages.messages(limit: limit) { token in
            let page = try await client.messages(
                forRoom: roomID, from: token, limit: min(max(limit, 20), Self.pageSize),
                filter: Self.filter)
            let messages = page.chunk.filter { $0.wireContent["m.relates_to"]?["rel_type"]?.string != "m.replace" }
            return (messages, page.end)
        }
    }
}
