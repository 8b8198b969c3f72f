import ArgumentParser
import CommandKit
import MatrixProtocol
import MatrixSDK

struct MatrixSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a message, and print its event id.",
        discussion: """
            TEXT is Markdown; - reads it from standard input. In an encrypted room the message is encrypted; the homeserver \
            is asked each time whether the room is. With --txn-id, a script can repeat the command after a failure: the homeserver takes a repeat of \
            this login with the same id for the same message, and answers with the first one's event id.

            Examples:
              pusher-cli matrix send '#lobby:example.org' 'it is **done**'
              make 2>&1 | tail | pusher-cli matrix send Builds - --notice
              until pusher-cli matrix send Builds 'released 1.2' --txn-id release-1.2; do sleep 5; done
            """)

    @OptionGroup var room: RoomArgument

    @Argument(help: "The text to send; - reads standard input.")
    var text: String

    @Flag(help: "Send it as a notice: a message from a program, which other programs do not answer.")
    var notice = false

    @Flag(help: "Send an action, shown after your name.")
    var emote = false

    @Flag(help: "TEXT is HTML instead of Markdown.")
    var html = false

    @Option(help: ArgumentHelp("Reply to this message.", valueName: "event"))
    var replyTo: String?

    @Option(help: ArgumentHelp("Replace this message; it must be yours.", valueName: "event"))
    var edit: String?

    @Option(
        help: ArgumentHelp(
            "The transaction id: use the same one to repeat the command safely. Default: a new one each time.",
            valueName: "id"))
    var txnID: String?

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard txnID.map({ (1...255).contains($0.utf8.count) }) ?? true else {
            throw ValidationError("--txn-id must be 1 to 255 bytes long.")
        }
        guard !notice || !emote else { throw ValidationError("--notice and --emote cannot be used together.") }
        guard replyTo == nil || edit == nil else {
            throw ValidationError("--reply-to and --edit cannot be used together.")
        }
        for event in [replyTo, edit] { try EventID.validate(event) }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        let text = try Input.text(given: text)
        guard !text.isEmpty else { throw CommandFailure(.badData, "there is nothing to send") }
        let (roomID, isEncrypted) = try await target(for: account)
        let id =
            isEncrypted
            ? try await sendEncrypted(text, to: roomID, as: account)
            : try await account.client.sendCheckedMessage(
                toRoom: roomID,
                content: try await content(of: text, as: account) {
                    try await account.client.event(withId: $0, inRoom: roomID)
                }, transactionId: txnID)
        _ = StandardOutput.write(TerminalText(id))
    }

    private func sendEncrypted(_ text: String, to roomID: String, as account: MatrixAccount) async throws -> String {
        try await account.withRoomKeys { keys in
            let content = try await content(of: text, as: account) { id in
                let event = try await account.client.event(withId: id, inRoom: roomID)
                return try await keys.read([event], in: roomID).first?.event ?? event
            }
            return try await keys.send(content, to: roomID, transactionID: txnID)
        }
    }

    /// Returns the room and whether it is encrypted. An alias is resolved only if the store does not, and concurrently
    /// if the store suggests where it leads.
    private func target(for account: MatrixAccount) async throws -> (roomID: String, isEncrypted: Bool) {
        let claim = room.reference.stored(for: account)
        guard let claim, !claim.isOfAliasServer else {
            let roomID = if let claim { claim.roomId } else { try await room.id(for: account) }
            return (roomID, try await account.isEncrypted(roomID))
        }
        async let isClaimedRoomEncrypted = account.isEncrypted(claim.roomId)
        let roomID = try await room.id(for: account)
        let isEncrypted =
            if roomID == claim.roomId { try await isClaimedRoomEncrypted } else {
                try await account.isEncrypted(roomID)
            }
        return (roomID, isEncrypted)
    }

    private func content(
        of text: String, as account: MatrixAccount, _ fetch: (String) async throws -> MXEvent
    ) async throws -> [String: Any] {
        let body = html ? HTMLText.plain(text) : text
        let content = MessageContent.text(
            body, html: html ? text : Markdown.html(text), type: notice ? "m.notice" : emote ? "m.emote" : "m.text")
        if let replyTo {
            let event = try await fetch(replyTo)
            return MessageContent.reply(to: event, with: content, currentUser: account.userID)
        }
        guard let edit else { return content }
        let event = try await fetch(edit)
        guard event.eventType == .roomMessage, event.sender == account.userID else {
            throw CommandFailure(.badData, "\(edit) is not your message: you can only edit your own")
        }
        // An edit always refers to the original message.
        let relation = event.wireContent["m.relates_to"]
        let isEdit = relation?["rel_type"]?.string == "m.replace"
        return MessageContent.edit(of: isEdit ? relation?["event_id"]?.string ?? edit : edit, to: content)
    }
}
