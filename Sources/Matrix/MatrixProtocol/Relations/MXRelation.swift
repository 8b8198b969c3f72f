import JSONBytes

/// The relation of an event to another one: `m.relates_to` in its content.
public struct MXRelation: Sendable, Hashable {
    /// The relation's type, such as `m.replace`, `m.annotation` or `m.thread`; `nil` for a plain reply.
    public let relationType: String?
    /// The related event's id.
    public let eventId: String?
    /// For a reaction, its key: an emoji, for example.
    public let key: String?
    /// The event replied to. In a thread perhaps only a fallback for older clients: see ``isFallingBack``.
    public let inReplyTo: String?
    /// Whether ``inReplyTo`` is only a fallback for clients without thread support.
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
    /// The event's relation; `nil` if there is none, or if it relates to itself. Encryption does not hide it.
    public var relatesTo: MXRelation? {
        guard mayRelate, let relation = MXRelation(originalContent["m.relates_to"] ?? wireContent["m.relates_to"])
        else { return nil }
        return relation.eventId == eventId ? nil : relation
    }

    /// Whether the event is an edit of another event.
    public var isEdit: Bool { editedEventId != nil }

    /// The id of the edited event.
    public var editedEventId: String? {
        guard !isState, let relation = relatesTo, relation.relationType == "m.replace" else { return nil }
        return relation.eventId
    }

    /// For an edit, the event with the content that replaces the edited one's.
    package var newVersion: MXEvent? {
        guard isEdit, let content = originalContent["m.new_content"], content.isObject else { return nil }
        return withEditedContent(content)
    }

    /// The event with the newest edit that the server sent along. A decrypted event is unchanged: its edit is
    /// encrypted.
    package var withBundledEdit: MXEvent {
        guard !isRedacted, !isDecrypted, let content = bundledRelations?["m.replace"]?["content"]?["m.new_content"],
            content.isObject
        else { return self }
        return withEditedContent(content)
    }

    /// Whether users see the event as a reply.
    public var isReply: Bool { replyToEventId != nil }

    /// The id of the event that this one replies to.
    public var replyToEventId: String? {
        guard let relation = relatesTo, let target = relation.inReplyTo, relation.relationType != "m.replace" else {
            return nil
        }
        return relation.relationType == "m.thread" && relation.isFallingBack ? nil : target
    }

    /// The id of the thread's root; `nil` outside threads and for the root itself.
    public var threadId: String? {
        guard let relation = relatesTo, relation.relationType == "m.thread" else { return nil }
        return relation.eventId
    }

    /// The text of a message, without the quote that older clients put before a reply.
    public var body: String? {
        let content = contentJSON
        guard let body = content["body"]?.string else { return nil }
        return relatesTo?.inReplyTo == nil ? body : ReplyFallback.stripped(body)
    }

    /// The HTML of a message, without the quote that older clients put before a reply. It comes from the sender and
    /// must be sanitised.
    public var formattedBody: String? {
        let content = contentJSON
        guard content["format"]?.string == "org.matrix.custom.html", let html = content["formatted_body"]?.string else {
            return nil
        }
        return ReplyFallback.stripped(html: html)
    }
}

/// Removes quotes from replies: before version 1.13 of the specification, replies repeated the message they answered.
enum ReplyFallback {
    /// Returns the text without its leading quoted lines.
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

    /// Returns the HTML without its leading `mx-reply` element.
    static func stripped(html: String) -> String {
        guard html.hasPrefix("<mx-reply>"), let end = html.utf8Range(of: "</mx-reply>") else { return html }
        return String(html[end.upperBound...])
    }
}

extension String {
    /// Returns the first occurrence of `needle`, which must be ASCII.
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
