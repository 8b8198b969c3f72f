import Basics

/// Builds the contents of events to send (client-server specification, "Instant messaging").
package enum MessageContent {
    /// The users that a message mentions.
    package struct Mentions: Sendable, Hashable {
        package var userIds: [String] = []
        /// Whether the message mentions everyone in the room.
        package var room = false

        package init(userIds: [String] = [], room: Bool = false) {
            (self.userIds, self.room) = (userIds, room)
        }

        fileprivate var content: [String: Any] {
            var content: [String: Any] = [:]
            if !userIds.isEmpty { content["user_ids"] = userIds }
            if room { content["room"] = true }
            return content
        }

        fileprivate init(_ content: Any?) {
            let content = content as? [String: Any]
            userIds = content?["user_ids"] as? [String] ?? []
            room = content?["room"] as? Bool ?? false
        }
    }

    // MARK: Texts

    /// - Parameters:
    ///   - html: The text in HTML.
    ///   - type: `m.text`, `m.notice` or `m.emote`.
    package static func text(
        _ body: String, html: String? = nil, type: String = "m.text", mentions: Mentions = Mentions()
    ) -> [String: Any] {
        var content: [String: Any] = ["msgtype": type, "body": body, "m.mentions": mentions.content]
        if let html {
            content["format"] = "org.matrix.custom.html"
            content["formatted_body"] = html
        }
        return content
    }

    /// Returns the content for text that the user has typed: Markdown, or an emote if it begins with `/me `.
    package static func typed(_ text: String, mentions: Mentions = Mentions()) -> [String: Any] {
        let isEmote = text.hasPrefix("/me ")
        let body = isEmote ? String(text.dropFirst(4)) : text
        return self.text(body, html: Markdown.html(body), type: isEmote ? "m.emote" : "m.text", mentions: mentions)
    }

    /// Returns the content for text that the user has typed, and mentions `users` where their names occur in it. Other
    /// clients show these as pills and notify the users. A user whose name does not occur in the text is not mentioned.
    package static func typed(_ text: String, naming users: [MXMention]) -> [String: Any] {
        let isEmote = text.hasPrefix("/me ")
        let body = isEmote ? String(text.dropFirst(4)) : text
        let (html, mentioned) = Pills.html(body, naming: users)
        return self.text(
            body, html: html, type: isEmote ? "m.emote" : "m.text", mentions: Mentions(userIds: mentioned))
    }

    // MARK: About another event

    /// Returns an edit that gives another message this content.
    ///
    /// - Parameters:
    ///   - eventId: The original message, not an edit of it.
    ///   - newMentions: The users that the message did not mention before. Only they are notified.
    package static func edit(
        of eventId: String, to content: [String: Any], newMentions: Mentions = Mentions()
    ) -> [String: Any] {
        var new = content
        new["m.relates_to"] = nil
        var edit = new
        if let body = new["body"] as? String { edit["body"] = "* " + body }
        if let html = new["formatted_body"] as? String { edit["formatted_body"] = "* " + html }
        edit["m.mentions"] = newMentions.content
        edit["m.new_content"] = new
        edit["m.relates_to"] = ["rel_type": "m.replace", "event_id": eventId]
        return edit
    }

    /// Returns an edit that notifies only those mentioned users whom the message did not mention before.
    ///
    /// - Parameter old: The message's current content.
    package static func edit(
        of eventId: String, from old: [String: Any], to content: [String: Any]
    ) -> [String: Any] {
        let (before, after) = (Mentions(old["m.mentions"]), Mentions(content["m.mentions"]))
        return edit(
            of: eventId, to: content,
            newMentions: Mentions(
                userIds: after.userIds.filter { !before.userIds.contains($0) }, room: after.room && !before.room))
    }

    /// Turns `content` into a reply to an event, in that event's thread, and mentions its sender.
    ///
    /// - Parameter userId: The current user, who is not mentioned.
    package static func reply(
        to event: MXEvent, with content: [String: Any], currentUser userId: String
    ) -> [String: Any] {
        var reply = content
        var relation: [String: Any] = ["m.in_reply_to": ["event_id": event.eventId]]
        if let root = event.threadId {
            relation["rel_type"] = "m.thread"
            relation["event_id"] = root
            relation["is_falling_back"] = false
        }
        reply["m.relates_to"] = relation
        var mentions = Mentions(content["m.mentions"])
        if event.sender != userId, !event.sender.isEmpty, !mentions.userIds.contains(event.sender) {
            mentions.userIds.append(event.sender)
        }
        reply["m.mentions"] = mentions.content
        return reply
    }

    /// Adds `content` to a thread. A reply remains a reply.
    ///
    /// - Parameters:
    ///   - rootId: The thread's root event.
    ///   - lastEventId: The newest event of the thread, for clients without thread support; `nil` uses the root.
    package static func inThread(
        _ rootId: String, lastEventId: String?, _ content: [String: Any]
    ) -> [String: Any] {
        var message = content
        let answered = (content["m.relates_to"] as? [String: Any])?["m.in_reply_to"] as? [String: Any]
        message["m.relates_to"] =
            [
                "rel_type": "m.thread", "event_id": rootId, "is_falling_back": answered == nil,
                "m.in_reply_to": answered ?? ["event_id": lastEventId ?? rootId],
            ] as [String: Any]
        return message
    }

    /// Returns the content of an `m.reaction` event.
    package static func reaction(_ key: String, to eventId: String) -> [String: Any] {
        ["m.relates_to": ["rel_type": "m.annotation", "event_id": eventId, "key": key]]
    }

    // MARK: Files

    /// The known properties of a file.
    package struct MediaInfo: Sendable, Hashable {
        package var mimetype: String?
        /// The size in bytes.
        package var size: Int?
        /// The width in pixels.
        package var width: Int?
        package var height: Int?
        package var duration: Duration?
        /// The `mxc:` URL of the thumbnail.
        package var thumbnailURL: String?

        package init(
            mimetype: String? = nil, size: Int? = nil, width: Int? = nil, height: Int? = nil,
            duration: Duration? = nil, thumbnailURL: String? = nil
        ) {
            (self.mimetype, self.size, self.width, self.height) = (mimetype, size, width, height)
            (self.duration, self.thumbnailURL) = (duration, thumbnailURL)
        }
    }

    /// - Parameters:
    ///   - type: `m.image`, `m.video`, `m.audio` or `m.file`.
    ///   - url: An `mxc:` URL.
    ///   - caption: The caption; `nil` sends only the file's name.
    ///   - thumbnail: The properties of the thumbnail.
    package static func media(
        _ type: String, url: String, filename: String, caption: String? = nil, info: MediaInfo,
        thumbnail: MediaInfo? = nil
    ) -> [String: Any] {
        var content = text(caption ?? filename, html: caption.flatMap { Markdown.html($0) }, type: type)
        content["filename"] = filename
        content["url"] = url
        var fields = info.content
        if info.thumbnailURL != nil, let thumbnail { fields["thumbnail_info"] = thumbnail.content }
        content["info"] = fields
        return content
    }

    /// Turns an audio message into a voice message.
    package static func voice(_ content: [String: Any], duration: Duration) -> [String: Any] {
        var voice = content
        voice["org.matrix.msc1767.audio"] = ["duration": milliseconds(duration)]
        voice["org.matrix.msc3245.voice"] = [String: Any]()
        return voice
    }

    /// - Parameter body: The text shown where no map is available.
    package static func location(latitude: Double, longitude: Double, body: String) -> [String: Any] {
        var content = text(body, type: "m.location")
        content["geo_uri"] = "geo:\(latitude),\(longitude)"
        return content
    }

    fileprivate static func milliseconds(_ duration: Duration) -> Int {
        Int(min(max(duration, .zero), .seconds(Int(Int32.max))).wholeNanoseconds / 1_000_000)
    }
}

extension MessageContent.MediaInfo {
    package var content: [String: Any] {
        var content: [String: Any] = [:]
        content["mimetype"] = mimetype
        content["size"] = size
        content["w"] = width
        content["h"] = height
        content["duration"] = duration.map { MessageContent.milliseconds($0) }
        content["thumbnail_url"] = thumbnailURL
        return content
    }
}
