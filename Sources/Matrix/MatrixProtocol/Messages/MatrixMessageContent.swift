import JSONBytes

/// The content of a message, in its stable or unstable form.
@nonexhaustive
public enum MatrixMessageContent: Sendable, Hashable {
    /// `html` is as the sender wrote it: sanitise it before display. The plain text hides its spoilers.
    case text(String, html: String? = nil)
    /// An automated message, from a bot for example. Other bots must not answer it.
    case notice(String, html: String? = nil)
    /// An action of the sender, shown after their name.
    case emote(String, html: String? = nil)
    case image(MatrixAttachment)
    case video(MatrixAttachment)
    case audio(MatrixAttachment)
    /// A voice message.
    case voice(MatrixAttachment)
    case file(MatrixAttachment)
    /// A picture on its own; ``MatrixAttachment/fileName`` describes it.
    case sticker(MatrixAttachment)
    /// `uri` is a `geo:` URI.
    case location(String, uri: String)
    case poll(MatrixPoll)
    /// The message was redacted.
    case redacted(reason: String?)
    /// The message is encrypted and cannot be read.
    case encrypted
    /// An unsupported or malformed message; `type` is its type in the protocol.
    case unsupported(type: String, body: String?)

    /// The readable part: the text, a question, or a file's caption or else its name. Empty for redacted and unreadable
    /// messages.
    public var body: String {
        switch self {
        case .text(let body, html: _), .notice(let body, html: _), .emote(let body, html: _),
            .location(let body, uri: _):
            body
        case .image(let file), .video(let file), .audio(let file), .voice(let file), .file(let file),
            .sticker(let file):
            file.caption ?? file.fileName
        case .poll(let poll): poll.question
        case .redacted, .encrypted: ""
        case .unsupported(type: _, let body): body ?? ""
        }
    }

    /// The attached file.
    public var attachment: MatrixAttachment? {
        switch self {
        case .image(let file), .video(let file), .audio(let file), .voice(let file), .file(let file),
            .sticker(let file):
            file
        case .text, .notice, .emote, .location, .poll, .redacted, .encrypted, .unsupported: nil
        }
    }
}

extension MXEvent {
    /// Whether users see it as a message of its own.
    package var isMessage: Bool {
        guard !isState, !isEdit else { return false }
        switch type {
        case "m.room.message", "m.room.encrypted", "m.sticker": return true
        default: return pollPart == .start
        }
    }
}

extension MatrixMessageContent {
    /// - Parameter event: A message, or the new version of an edited one (``MXEvent/newVersion``).
    package init(_ event: MXEvent) {
        let content = event.contentJSON
        if event.isRedacted {
            self = .redacted(reason: event.redactedBecause?["content"]?["reason"]?.string)
        } else if event.isEncrypted {
            self = .encrypted
        } else if event.type == "m.sticker" {
            self = .sticker(MatrixAttachment(content, body: event.body ?? ""))
        } else if event.pollPart == .start {
            self = MatrixPoll(content).map { .poll($0) } ?? .unsupported(type: event.type, body: content.extensibleText)
        } else {
            self.init(message: event, content)
        }
    }

    private init(message event: MXEvent, _ content: JSONView) {
        let html = event.formattedBody
        // The plain text must not reveal the sender's spoilers.
        let hidden = html.flatMap { HTMLText.mayHaveSpoilers($0) ? HTMLText.plain($0) : nil }
        let type = content["msgtype"]?.string
        let text = hidden ?? event.body
        // A file needs no text.
        let isFile = ["m.image", "m.video", "m.audio", "m.file"].contains(type)
        guard let body = text ?? (isFile ? "" : nil) else {
            self = .unsupported(type: type ?? event.type, body: nil)
            return
        }
        switch type {
        case "m.text": self = .text(body, html: html)
        case "m.notice": self = .notice(body, html: html)
        case "m.emote": self = .emote(body, html: html)
        case "m.image": self = .image(MatrixAttachment(content, body: body))
        case "m.video": self = .video(MatrixAttachment(content, body: body))
        case "m.audio":
            let file = MatrixAttachment(content, body: body)
            self = Self.isVoice(content) ? .voice(file) : .audio(file)
        case "m.file": self = .file(MatrixAttachment(content, body: body))
        case "m.location": self = Self.location(content, body) ?? .unsupported(type: "m.location", body: body)
        default: self = .unsupported(type: type ?? event.type, body: body)
        }
    }

    private static func isVoice(_ content: JSONView) -> Bool {
        ["org.matrix.msc3245.voice", "org.matrix.msc3245.voice.v2", "m.voice"].contains { content[$0] != nil }
    }

    private static func location(_ content: JSONView, _ body: String) -> MatrixMessageContent? {
        let location = content["m.location"] ?? content["org.matrix.msc3488.location"]
        guard let uri = content["geo_uri"]?.string ?? location?["uri"]?.string, isGeoURI(uri) else { return nil }
        return .location(location?["description"]?.string ?? body, uri: uri)
    }

    /// Whether it is a location on Earth: `geo:latitude,longitude`, with optional altitude and parameters (RFC 5870).
    static func isGeoURI(_ uri: String) -> Bool {
        guard uri.utf8.count <= 256, uri.lowercased().hasPrefix("geo:") else { return false }
        let place = uri.dropFirst(4).prefix { $0 != ";" }
        guard place.allSatisfy({ $0.isASCII && ($0.isNumber || "+-.,".contains($0)) }) else { return false }
        let numbers = place.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard (2...3).contains(numbers.count), !numbers.contains(nil), let latitude = numbers[0],
            let longitude = numbers[1]
        else { return false }
        return abs(latitude) <= 90 && abs(longitude) <= 180
    }
}
