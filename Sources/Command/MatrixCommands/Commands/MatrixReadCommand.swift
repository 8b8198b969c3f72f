import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Mark a room as read, and print the id of the last event read.",
        discussion: """
            Marks everything as read up to EVENT, or up to the newest event. With --thread, marks only one thread.

            Examples:
              pusher-cli matrix read '#lobby:example.org'
              pusher-cli matrix read '#lobby:example.org' '$event' --private
              pusher-cli matrix read '#lobby:example.org' --thread '$first'
            """)

    @OptionGroup var room: RoomArgument

    @Argument(help: "The id of the last event that you have read. Default: the newest.")
    var event: String?

    @Flag(name: .customLong("private"), help: "Do not show others how far you have read.")
    var isPrivate = false

    @Option(help: ArgumentHelp("Mark only the thread that begins with this event.", valueName: "event"))
    var thread: String?

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        try EventID.validate(event)
        try EventID.validate(thread)
    }

    func run() async throws {
        let account = try network.matrixAccount()
        let roomID = try await room.id(for: account)
        let event = if let event { event } else { try await newest(in: roomID, account.client) }
        if let thread {
            try await account.client.sendReadReceipt(
                toRoom: roomID, forEvent: event, threadId: thread, isPrivate: isPrivate)
        } else {
            try await account.client.sendReadMarkers(
                toRoom: roomID, fullyRead: event, read: isPrivate ? nil : event, privateRead: isPrivate ? event : nil)
        }
        _ = StandardOutput.write(TerminalText(event))
    }

    private func newest(in roomID: String, _ client: MXRestClient) async throws -> String {
        let newest = try await Pages.messages(limit: 1) { token in
            if let thread {
                let page = try await client.relations(
                    forEvent: thread, inRoom: roomID, relationType: "m.thread", from: token, limit: 1)
                return (page.chunk, page.nextBatch)
            }
            let page = try await client.messages(forRoom: roomID, from: token, limit: 1)
            return (page.chunk, page.end)
        }
        guard let event = newest.first else {
            throw CommandFailure(
                .badData, "there is nothing to read in \(thread.map { "the thread \($0)" } ?? room.room)")
        }
        return event.eventId
    }
}
