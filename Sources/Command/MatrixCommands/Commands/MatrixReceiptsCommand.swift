import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixReceiptsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipts", abstract: "Show who has read a room, and how far.",
        discussion: """
            Prints the newest receipt first. With EVENT, lists only those who have read that event or a later one. \
            pusher-cli matrix read marks a room as read.

            Examples:
              pusher-cli matrix receipts '#lobby:example.org'
              pusher-cli matrix receipts '#lobby:example.org' '$event' --json
            """)

    @OptionGroup var room: RoomArgument

    @Argument(help: "The id of an event in the room.")
    var event: String?

    @OptionGroup var output: OutputOptions

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        try EventID.validate(event)
    }

    func run() async throws {
        let account = try network.matrixAccount()
        // Receipts arrive only with a sync.
        var (roomID, receipts) = try await account.withSession { session in
            let room = try await room.reference.room(in: session, for: account)
            return (room.roomId, try room.receipts().sorted { ($1.ts, $0.userId) < ($0.ts, $1.userId) })
        }
        if let event { receipts = try await receipts.whoRead(event, in: roomID, account.client) }
        var names: [String: String] = [:]
        if !output.json, !receipts.isEmpty {
            names = try await account.client.joinedMembers(ofRoom: roomID).compactMapValues(\.displayName)
        }
        _ = output.write(
            receipts.map { ReceiptRecord(receipt: $0, roomID: roomID, userName: names[$0.userId]) },
            none: "nobody has read anything here yet")
    }
}

extension [MXReceipt] {
    private static var pageSize: Int { 100 }
    private static var maximumPages: Int { 100 }

    /// Returns the receipts that cover an event, one per user.
    fileprivate func whoRead(_ eventID: String, in roomID: String, _ client: MXRestClient) async throws -> [MXReceipt] {
        let context = try await client.contextOfEvent(eventID, inRoom: roomID, limit: 1)
        let relation = context.event.wireContent["m.relates_to"]
        let isInThread = relation?["rel_type"]?.string == "m.thread"
        let thread = isInThread ? relation?["event_id"]?.string : nil
        // A receipt only applies to its thread unless it is for the whole room.
        let counting = filter { $0.threadId == nil || $0.threadId == thread ?? "main" }
        let later = try await Self.later(than: context, among: Set(counting.map(\.eventId)), in: roomID, client)
        var users: Set<String> = []
        return counting.filter { later.contains($0.eventId) && users.insert($0.userId).inserted }
    }

    /// Returns which of the given events are the event in question or later.
    private static func later(
        than context: MXEventContext, among wanted: Set<String>, in roomID: String, _ client: MXRestClient
    ) async throws -> Set<String> {
        var later = Set([context.event.eventId] + context.eventsAfter.map(\.eventId)).intersection(wanted)
        var token = context.end
        for _ in 0..<maximumPages {
            guard let from = token, later.count < wanted.count else { return later }
            let page = try await client.messages(
                forRoom: roomID, from: from, direction: .forwards, limit: pageSize)
            later.formUnion(wanted.intersection(page.chunk.map(\.eventId)))
            token = page.end == from ? nil : page.end
        }
        if token != nil, later.count < wanted.count {
            StandardError.write(
                "warning: only the first \(maximumPages * pageSize) later events were looked at; some readers may be missing"
            )
        }
        return later
    }
}
