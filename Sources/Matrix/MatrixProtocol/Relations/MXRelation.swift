import JSONBytes

/// What an event says about another one: `m.relates_to` of its content.
public struct MXRelation: Sendable, Hashable {
    /// Such as `m.replace`, `m.annotation` or `m.thread`; nil for a plain reply.
    public let relationType: String?
    /// The event that the type is about.
    public let eventId: String?
    /// Of a reaction: what to show, an emoji for example.
    public let key: String?
    /// The event that is replied to. In a thread perhaps only for clients that know no threads: see ``isFallingBack``.
    public let inReplyTo: String?
    /// Whether ``inReplyTo`` is for clients only that know no threads.
    public let isFallingBack: Bool

    init?(_ json: JSONView?) {
        guard let json, json.isObject else { return nil }
        relationType = json["rel_type"]?.string
        eventId = json["event_id"]?.string
        key = json["key"]?.string
        inReplyTo = json["m.in_reply_to"]?["event_id"]?.string
        isFallingBack = json["is_falling_back"]?.bool ?? false
    }
}

extension MXEvent {
    /// What it says about another event; nil if nothing, or if it says that of itself. Encryption does not hide it.
    public var relatesTo: MXRelation? {
        guard mayRelate, let relation = MXRelation(originalContent["m.relates_to"] ?? wireContent["m.relates_to"])
        else { return nil }
        return relation.eventId == eventId ? nil : relation
    }

    /// Whether it replaces what another event says.
    public var isEdit: Bool { editedEventId != nil }

    /// The event that it edits.
    public var editedEventId: String? {
        guard !isState, let relation = relatesTo, relation.relationType == "m.replace" else { return nil }
        return relation.eventId
    }

    /// Of an edit: the event with the content that the edited one is to have.
    package var newVersion: MXEvent? {
        guard isEdit, let content = originalContent["m.new_content"], content.isObject else { return nil }
        return withEditedContent(content)
    }

    /// With the content of its newest edit, if the server has sent that along. Of a decrypted event that would be encrypted.
    package var withBundledEdit: MXEvent {
        guard !isRedacted, !isDecrypted, let content = bundledRelations?["m.replace"]?["content"]?["m.new_content"],
            content.isObject
        else { return self }
        return withEditedContent(content)
    }

    /// Whether it answers another event, by what a user sees.
    public var isReply: Bool { replyToEventId != nil }

    /// The event that it answers.
    public var replyToEventId: String? {
        guard let relation = relatesTo, let target = relation.inReplyTo, relation.relationType != "m.replace" else {
            return nil
        }
        return relation.relationType == "m.thread" && relation.isFallingBack ? nil : target
    }

    /// The root of the thread that it is in; nil outside threads, and for the root itself.
    public var threadId: String? {
        guard let relation = relatesTo, relation.relationType == "m.thread" else { return nil }
        return relation.eventId
    }

    /// The text of a message, without the quotation that older clients put before a reply.
    public var body: String? {
        let content = contentJSON
        guard let body = content["body"]?.string else { return nil }
        return relatesTo?.inReplyTo == nil ? body : ReplyFallback.stripped(body)
    }

    /// The HTML of a message, without the quotation that older clients put before a reply. Not safe: it is what the
    /// sender wrote.
    public var formattedBody: String? {
        let content = contentJSON
        guard content["format"]?.string == "org.matrix.custom.html", let html = content["formatted_body"]?.string else {
            return nil
        }
        return ReplyFallback.stripped(html: html)
    }
}

/// Before version 1.13 of the specification, replies repeated what they answer.
enum ReplyFallback {
    /// A text without the lines at its beginning that quote.
    static func stripped(_ body: String) -> String {
        guard body.hasPrefix("> ") else { return body }
        var rest = body[...]
        while rest.hasPrefix("> ") || rest == ">" || rest.hasPrefix(">\n") {
            guard let end = rest.firstIndex(of: "\n") else { return "" }
            rest = rest[rest.index(after: end)...]
        }
        if rest.first == "\n" { rest.removeFirst() }
        return String(rest)
    }

    /// HTML without the element `mx-reply` at its beginning.
    static func stripped(html: String) -> String {
        guard html.hasPrefix("<mx-reply>"), let end = html.utf8Range(of: "</mx-reply>") else { return html }
        return String(html[end.upperBound...])
    }
}

extension String {
    /// Where `needle`, which is ASCII, first stands.
    func utf8Range(of needle: StaticString) -> Range<Index>? {
        let wanted = Array("\(needle)".utf8)
        guard let first = wanted.first else { return nil }
        var rest = utf8[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: wanted) { return start..<rest.index(start, offsetBy: wanted.count) }
            rest.removeFirst()
        }
        return nil
    }
}
