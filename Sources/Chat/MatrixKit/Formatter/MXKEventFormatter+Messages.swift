import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK

extension MXKEventFormatter {
    /// Returns the text of an event in the colour of its kind.
    func words(_ event: MXEvent, with state: MXRoomState?) throws -> MXKText? {
        if event.isRedacted, !event.isState {
            guard settings.showRedactionsInRoomHistory else { return nil }
            return subtitled(redacted(event, state))
        }
        switch event.type {
        case "m.room.message", "m.sticker": return try message(event, state)
        case "m.poll.start", "org.matrix.msc3381.poll.start": return try message(event, state)
        case "m.room.encrypted": return undecryptable(event)
        case "m.reaction", "m.receipt", "m.typing", "m.poll.response", "m.poll.end": return nil
        default:
            guard let words = try stateWords(event, state) else { return nil }
            return subtitled(words)
        }
    }

    private func subtitled(_ words: String) -> MXKText {
        var text = MXKText(words)
        text.color = .subtitle
        return text
    }

    private func message(_ event: MXEvent, _ state: MXRoomState?) throws -> MXKText? {
        if event.isEdit { return nil }
        var text: MXKText
        switch MatrixMessageContent(event) {
        case .text(let body, let html): text = body.isEmpty && html == nil ? MXKText() : rich(body, html)
        case .notice(let body, let html):
            text = rich(body, html)
            text.color = .subtitle
        case .emote(let body, let html):
            text = rich(body, html)
            var style = MXKText.Style()
            style.color = .prefix
            let name = senderDisplayName(for: event, with: state) ?? event.sender
            text.prepend(MXKText.Run("* \(name) ", style))
        case .image(let file): text = try attachment(file, "image", event)
        case .video(let file): text = try attachment(file, "video", event)
        case .audio(let file): text = try attachment(file, "audio", event)
        case .voice(let file): text = try attachment(file, "voice", event)
        case .file(let file): text = try attachment(file, "file", event)
        case .sticker(let file): text = MXKText(Self.name(file.fileName) ?? language.text("sticker"))
        case .location(let body, uri: _): text = MXKText(Self.name(body) ?? language.text("location"))
        case .poll(let poll): text = self.poll(poll)
        case .redacted, .encrypted: return nil
        case .unsupported(let type, let body):
            guard let body = Self.name(body) else {
                throw type == "m.room.message" ? MXKEventFormatterError.unexpected : .unsupported
            }
            text = MXKText(body)
        }
        guard !text.isEmpty else { throw MXKEventFormatterError.unexpected }
        if event.isEdited, !isForSubtitle {
            var style = MXKText.Style()
            style.color = .subtitle
            text.append(MXKText.Run(" " + language.text("edited"), style))
        }
        return text
    }

    /// Returns the text of a file message: its caption, or else its name or kind.
    private func attachment(_ file: MatrixAttachment, _ kind: String, _ event: MXEvent) throws -> MXKText {
        guard isSupportedAttachment(event) || event.isLocalEvent else {
            var text = MXKText(language.text("attachment.unreadable"))
            text.color = .error
            return text
        }
        if let caption = file.caption { return rich(caption, event.formattedBody) }
        return MXKText(Self.name(file.fileName) ?? language.text(kind))
    }

    private func rich(_ body: String, _ html: String?) -> MXKText {
        guard let html else { return MXKText(blocks: plainBlocks(body)) }
        let text = HTMLReader.text(html, allowed: Set(allowedHTMLTags))
        return text.isEmpty ? MXKText(blocks: plainBlocks(body)) : linked(text)
    }

    private func plainBlocks(_ body: String) -> [MXKText.Block] {
        guard !body.isEmpty else { return [] }
        return linked(MXKText(body)).blocks
    }

    /// Makes links of users, rooms, events and addresses in the text.
    private func linked(_ text: MXKText) -> MXKText {
        var text = text
        for index in text.blocks.indices {
            if case .code = text.blocks[index].kind { continue }
            text.blocks[index].runs = text.blocks[index].runs.flatMap { run in
                run.style.isCode || run.style.link != nil ? [run] : LinkDetector.runs(run) { self.isLink($0) }
            }
        }
        return text
    }

    private func isLink(_ sigil: Character) -> Bool {
        switch sigil {
        case "@": treatMatrixUserIdAsLink
        case "!": treatMatrixRoomIdAsLink
        case "#": treatMatrixRoomAliasAsLink
        case "$": treatMatrixEventIdAsLink
        default: true
        }
    }

    private func poll(_ poll: MatrixPoll) -> MXKText {
        var text = MXKText(language.text("poll", ["question": poll.question]))
        guard !isForSubtitle else { return text }
        text.blocks += poll.answers.map { answer in
            MXKText.Block(
                .item(ordinal: nil), runs: [MXKText.Run(answer.text + (answer.votes.map { "  \($0)" } ?? ""))])
        }
        return text
    }

    private func undecryptable(_ event: MXEvent) -> MXKText? {
        guard !settings.hideUndecryptableEvents else { return nil }
        let words = event.decryptionError.map { language.text("undecryptable", ["reason": $0.description]) }
        var text = MXKText(words ?? language.text("encrypted"))
        text.color = event.decryptionError == nil ? .subtitle : .error
        return text
    }

    private func redacted(_ event: MXEvent, _ state: MXRoomState?) -> String {
        guard let redaction = event.redactedBecause, let sender = redaction["sender"]?.string, sender != event.sender
        else {
            return language.text("redacted")
        }
        let name = state?.members.memberName(sender) ?? sender
        return language.text(
            "redacted.by", ["sender": name, "reason": reason(redaction["content"]?["reason"]?.string)])
    }

    func reason(_ reason: String?) -> String? {
        Self.name(reason).map { language.text("reason", ["reason": $0]) }
    }
}
