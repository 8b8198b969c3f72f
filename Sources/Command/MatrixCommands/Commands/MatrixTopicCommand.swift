import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixTopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "Print a room's topic, or set it.",
        discussion: """
            Prints nothing if the room has no topic. Line breaks in it are printed as \\n. An empty TEXT removes the \
            topic.

            Examples:
              pusher-cli matrix topic '#lobby:example.org'
              pusher-cli matrix topic '#lobby:example.org' 'Release on Friday'
              pusher-cli matrix topic '#lobby:example.org' - < topic.txt
            """)

    @OptionGroup var room: RoomArgument

    @Argument(help: "The new topic; - reads standard input.")
    var text: String?

    @Flag(help: "Print the topic as one JSON object.")
    var json = false

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard text == nil || !json else {
            throw ValidationError("--json is only for printing the topic, not for setting it.")
        }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        if let text {
            let topic = try Input.text(given: text)
            let roomID = try await room.id(for: account)
            try await account.client.setRoomTopic(topic, ofRoom: roomID)
        } else {
            let roomID = try await room.id(for: account)
            _ = write(try await topic(ofRoom: roomID, account.client), ofRoom: roomID)
        }
    }

    /// Returns the topic; empty if there is none.
    private func topic(ofRoom roomID: String, _ client: MXRestClient) async throws -> String {
        do {
            return try await client.stateEvent(ofRoom: roomID, eventType: .roomTopic)["topic"]?.string ?? ""
        } catch let error as MXError where error.errcode == kMXErrCodeStringNotFound {
            return ""
        }
    }

    private func write(_ topic: String, ofRoom roomID: String) -> Bool {
        guard json else { return topic.isEmpty || StandardOutput.write(TerminalText(topic)) }
        var line = JSONLine(type: "topic")
        line.add("room_id", roomID)
        line.add("topic", topic)
        return StandardOutput.write(json: line.text)
    }
}
