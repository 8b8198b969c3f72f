import ArgumentParser
import MatrixProtocol
import MatrixSDK

struct MatrixSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a message, and print its event id.",
        discussion: """
            TEXT is Markdown; - reads it from standard input. Encrypted rooms are refused.

            Examples:
              pusher-cli matrix send '#lobby:example.org' 'it is **done**'
              make 2>&1 | tail | pusher-cli matrix send Builds - --notice
            """)

    @Argument(help: "An id, an alias, or the name of a room that you are in.")
    var room: String

    @Argument(help: "What to say; - reads standard input.")
    var text: String

    @Flag(help: "As a program's message, to which no other program answers.")
    var notice = false

    @Flag(help: "As what you do: shown after your name.")
    var emote = false

    @Flag(help: "TEXT is HTML instead of Markdown.")
    var html = false

    @Option(help: ArgumentHelp("As an answer to this message.", valueName: "event"))
    var replyTo: String?

    @Option(help: ArgumentHelp("In the place of this message of yours.", valueName: "event"))
    var edit: String?

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        guard !notice || !emote else { throw ValidationError("--notice and --emote exclude each other.") }
        guard replyTo == nil || edit == nil else {
            throw ValidationError("--reply-to and --edit exclude each other.")
        }
        for event in [replyTo, edit].compactMap({ $0 }) where !event.hasPrefix("$") {
            throw ValidationError("An event's id starts with $, which a shell wants quoted: '$id'.")
        }
    }

    func run() async throws {
        try await ExitStatus.reportingMatrix {
            let account = try matrix.account()
            var text = try Input.text(given: text)
            if self.text == "-", text.last?.isNewline == true { text.removeLast() }
            guard !text.isEmpty else { throw CommandFailure(.badData, "there is nothing to send") }
            let roomID = try await RoomReference(room).roomID(for: account)
            let id = try await account.client.sendMessage(
                toRoom: roomID, content: try await content(of: text, in: roomID, for: account))
            _ = StandardOutput.write(TerminalText(id))
        }
    }

    private func content(of text: String, in roomID: String, for account: MatrixAccount) async throws -> [String: Any] {
        let body = html ? HTMLText.plain(text) : text
        let content = MessageContent.text(
            body, html: html ? text : Markdown.html(text), type: notice ? "m.notice" : emote ? "m.emote" : "m.text")
        if let replyTo {
            let event = try await account.client.event(withId: replyTo, inRoom: roomID)
            return MessageContent.reply(to: event, with: content, currentUser: account.userID)
        }
        guard let edit else { return content }
        let event = try await account.client.event(withId: edit, inRoom: roomID)
        guard event.eventType == .roomMessage, event.sender == account.userID else {
            throw CommandFailure(.badData, "\(edit) is no message of yours: only those can be edited")
        }
        // An edit is always one of the first message.
        let relation = event.wireContent["m.relates_to"]
        let isEdit = relation?["rel_type"]?.string == "m.replace"
        return MessageContent.edit(of: isEdit ? relation?["event_id"]?.string ?? edit : edit, to: content)
    }
}
