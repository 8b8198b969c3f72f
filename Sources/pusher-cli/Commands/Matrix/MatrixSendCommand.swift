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

    @OptionGroup var room: RoomArgument

    @Argument(help: "The text to send; - reads standard input.")
    var text: String

    @Flag(help: "Send a program's message, which other programs do not answer.")
    var notice = false

    @Flag(help: "Send an action, shown after your name.")
    var emote = false

    @Flag(help: "TEXT is HTML instead of Markdown.")
    var html = false

    @Option(help: ArgumentHelp("Reply to this message.", valueName: "event"))
    var replyTo: String?

    @Option(help: ArgumentHelp("Replace this message; it must be yours.", valueName: "event"))
    var edit: String?

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        guard !notice || !emote else { throw ValidationError("--notice and --emote cannot be used together.") }
        guard replyTo == nil || edit == nil else {
            throw ValidationError("--reply-to and --edit cannot be used together.")
        }
        for event in [replyTo, edit] { try EventID.validate(event) }
    }

    func run() async throws {
        let account = try matrix.account()
        let text = try Input.text(given: text)
        guard !text.isEmpty else { throw CommandFailure(.badData, "there is nothing to send") }
        let roomID = try await room.id(for: account)
        let id = try await account.client.sendMessage(
            toRoom: roomID, content: try await content(of: text, in: roomID, for: account))
        _ = StandardOutput.write(TerminalText(id))
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
            throw CommandFailure(.badData, "\(edit) is not your message: you can only edit your own")
        }
        // An edit is always one of the first message.
        let relation = event.wireContent["m.relates_to"]
        let isEdit = relation?["rel_type"]?.string == "m.replace"
        return MessageContent.edit(of: isEdit ? relation?["event_id"]?.string ?? edit : edit, to: content)
    }
}
