import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixReactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "react", abstract: "React to a message, or remove your reaction; prints the event's id.",
        discussion: """
            Example:
              pusher-cli matrix react '#lobby:example.org' '$event' 👍
            """)

    @OptionGroup var room: RoomArgument

    @Argument(help: "The message's id.")
    var event: String

    @Argument(help: "An emoji, or a short text.")
    var key: String

    @Flag(help: "Remove your reaction.")
    var remove = false

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        try EventID.validate(event)
        guard !key.isEmpty else { throw ValidationError("A reaction cannot be empty.") }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        let roomID = try await room.id(for: account)
        let id =
            remove
            ? try await account.client.redactEvent(try await reaction(of: account, in: roomID), inRoom: roomID)
            : try await react(as: account, in: roomID)
        _ = StandardOutput.write(TerminalText(id))
    }

    private func react(as account: MatrixAccount, in roomID: String) async throws -> String {
        do {
            return try await account.client.sendReaction(key, toEvent: event, inRoom: roomID)
        } catch let error as MXError where error.errcode == kMXErrCodeStringDuplicateAnnotation {
            return try await reaction(of: account, in: roomID)
        }
    }

    private func reaction(of account: MatrixAccount, in roomID: String) async throws -> String {
        var token: String?
        for _ in 0..<100 {
            let page = try await account.client.relations(
                forEvent: event, inRoom: roomID, relationType: "m.annotation", eventType: .reaction, from: token,
                limit: 100)
            let own = page.chunk.first { reaction in
                reaction.sender == account.userID && !reaction.isRedacted
                    && reaction.contentJSON["m.relates_to"]?["key"]?.string == key
            }
            if let own { return own.eventId }
            token = page.nextBatch
            if token == nil { break }
        }
        throw CommandFailure(.badData, "you have no such reaction to \(event)")
    }
}
