import Basics
import Foundation
import JSONBytes
package import MatrixProtocol
import MatrixSDK

/// The content of an event as readable text.
package struct MatrixEventText {
    /// Earlier messages that the event refers to, as far as known.
    package struct Context: Sendable {
        /// The sender of the message being replied to.
        package var repliedTo: String?
        /// The poll that receives the vote or ends.
        package var poll: MatrixPoll?
        /// Whether the sender may end the poll.
        package var mayEndPoll = true

        package init() {}
    }

    package let text: String

    /// Returns `nil` for events without an id: their records show the data.
    package init?(_ event: MXEvent, context: Context = Context()) {
        guard !event.eventId.isEmpty else { return nil }
        let content = event.contentJSON
        switch event.type {
        case _ where event.isShownAsMessage:
            text = Self.message(event, MatrixMessageContent(event.newVersion ?? event), context)
        case "m.reaction":
            let relation = content["m.relates_to"]
            text = [relation?["key"]?.string, relation?["event_id"]?.string.map { "on \($0)" }]
                .compactMap { $0 }.joined(separator: " ")
        case "m.room.redaction": text = "removed \(event.redacts ?? "a message")"
        case "m.room.member": text = Self.membership(event)
        case "m.room.name": text = content["name"]?.string ?? ""
        case "m.room.topic": text = content["topic"]?.string ?? ""
        case _ where event.pollPart != nil && event.isRedacted: text = "(removed)"
        case _ where event.pollStartId != nil: text = Self.poll(event, context)
        case _ where event.liveLocation != nil: text = event.liveLocation?.line ?? ""
        default: text = String(decoding: content.data, as: UTF8.self)
        }
    }

    /// - Parameter content: The current content.
    package init(_ event: MXEvent, _ content: MatrixMessageContent, context: Context) {
        text = Self.message(event, content, context)
    }

    private static func message(_ event: MXEvent, _ content: MatrixMessageContent, _ context: Context) -> String {
        let notes = [
            event.replyToEventId.map { "reply to \(context.repliedTo ?? $0)" },
            event.threadId.map { "in thread \($0)" },
            event.editedEventId.map { "edits \($0)" }, event.isEdited ? "edited" : nil,
        ]
        return joined(content.line, notes.compactMap { $0 })
    }

    /// Returns `words (note, note)`.
    fileprivate static func joined(_ words: String, _ notes: [String]) -> String {
        let notes = notes.isEmpty ? nil : "(\(notes.joined(separator: ", ")))"
        return [words.isEmpty ? nil : words, notes].compactMap { $0 }.joined(separator: " ")
    }

    private static func membership(_ event: MXEvent) -> String {
        let user = event.contentJSON["displayname"]?.string ?? event.stateKey ?? ""
        let reason = event.contentJSON["reason"]?.string.map { ": \($0)" } ?? ""
        return "\(user) \(event.contentJSON["membership"]?.string ?? "")\(reason)"
    }

    /// Returns the text of a vote or the end of a poll.
    private static func poll(_ event: MXEvent, _ context: Context) -> String {
        let poll = context.poll.map { "the poll “\($0.question)”" } ?? "the poll \(event.pollStartId ?? "")"
        guard event.pollPart == .end else {
            // The votes of an undisclosed poll are secret until it ends.
            let isOpen = context.poll?.isDisclosed == true
            let chosen = isOpen ? context.poll?.selections(of: event) ?? [] : []
            let answers = (context.poll?.answers ?? []).filter { chosen.contains($0.id) }.map { "[\($0.text)]" }
            return answers.isEmpty ? "voted in \(poll)" : "voted for \(answers.joined(separator: " ")) in \(poll)"
        }
        let words = event.contentJSON.extensibleText.map { ": \($0)" } ?? ""
        guard context.mayEndPoll else { return "cannot end \(poll)\(words)" }
        let results = context.poll?.results.map { " \($0)" } ?? ""
        return "ended \(poll)\(results)\(words)"
    }
}

extension MXEvent {
    /// Whether this is a message or an edit of one.
    package var isShownAsMessage: Bool { isMessage || newVersion != nil }
}

extension MatrixMessageContent {
    /// The content of any kind as one text, which may contain line breaks.
    package var line: String {
        switch self {
        case .text(let body, html: _), .notice(let body, html: _): body
        case .emote(let body, html: _): "* \(body)"
        case .image(let file): Self.line(file, "m.image")
        case .video(let file): Self.line(file, "m.video")
        case .audio(let file): Self.line(file, "m.audio")
        case .file(let file): Self.line(file, "m.file")
        case .voice(let file):
            MatrixEventText.joined(
                ["voice message", file.duration.map(Self.clock), file.caption].compactMap { $0 }.joined(separator: " "),
                [file.url].compactMap { $0 })
        case .sticker(let file): MatrixEventText.joined("sticker: \(file.fileName)", [file.url].compactMap { $0 })
        case .location(let body, let uri):
            MatrixEventText.joined("location: \(body)", body.contains(uri) ? [] : [uri])
        case .poll(let poll): poll.line
        case .redacted: "(removed)"
        case .encrypted: "(encrypted)"
        // A message without a type; one without a body was redacted.
        case .unsupported("m.room.message", let body): body ?? "(removed)"
        case .unsupported(let type, let body): MatrixEventText.joined(body ?? "", [type])
        }
    }

    private static func line(_ file: MatrixAttachment, _ type: String) -> String {
        let details = [type, file.caption == nil ? nil : file.fileName, file.url].compactMap { $0 }
        return MatrixEventText.joined(file.caption ?? file.fileName, [details.joined(separator: " ")])
    }

    /// Returns `1:07` or `1:00:07`.
    fileprivate static func clock(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let parts = seconds < 3600 ? [seconds / 60, seconds % 60] : [seconds / 3600, seconds / 60 % 60, seconds % 60]
        return parts.enumerated().map { $0 > 0 && $1 < 10 ? "0\($1)" : "\($1)" }.joined(separator: ":")
    }

    /// The name of the kind in records.
    package var kind: String {
        switch self {
        case .text: "text"
        case .notice: "notice"
        case .emote: "emote"
        case .image: "image"
        case .video: "video"
        case .audio: "audio"
        case .voice: "voice"
        case .file: "file"
        case .sticker: "sticker"
        case .location: "location"
        case .poll: "poll"
        case .redacted: "removed"
        case .encrypted: "encrypted"
        case .unsupported: "other"
        }
    }
}

extension LiveLocation {
    fileprivate var line: String {
        switch self {
        case .began(let description, let duration):
            let time = duration.map { " for \(MatrixMessageContent.clock($0))" } ?? ""
            return "shares a live location\(time)\(description.map { ": \($0)" } ?? "")"
        case .ended: return "stopped sharing a live location"
        case .moved(let uri, let description):
            return "live location: " + (description.map { MatrixEventText.joined($0, [uri]) } ?? uri)
        }
    }
}

extension MatrixPoll {
    /// The results, such as `[Pizza 2] [Sushi 1] (3 voters)`; `nil` while the votes are unknown.
    fileprivate var results: String? {
        guard let voterCount else { return nil }
        return MatrixEventText.joined(
            answerList, [voterCount == 1 ? "1 voter" : "\(voterCount) voters"])
    }

    private var answerList: String {
        answers.map { answer in "[\(answer.text)\(answer.votes.map { " \($0)" } ?? "")]" }.joined(separator: " ")
    }

    /// The poll, such as `poll: Lunch? [Pizza 2] [Sushi 1] (3 voters)`.
    fileprivate var line: String {
        let limit = min(maxSelections, answers.count)
        let notes = [
            limit > 1 ? "choose up to \(limit)" : nil, isEnded ? "ended" : nil,
            voterCount.map { $0 == 1 ? "1 voter" : "\($0) voters" },
            voterCount != nil && !isDisclosed && !isEnded ? "results when it ends" : nil,
        ]
        return MatrixEventText.joined("poll: \(question) \(answerList)", notes.compactMap { $0 })
    }

    fileprivate var json: String {
        var object = JSONWriter()
        object.add("question", question)
        let answers = answers.map { answer in
            var object = JSONWriter()
            object.add("id", answer.id)
            object.add("text", answer.text)
            if let votes = answer.votes { object.add("votes", json: String(votes)) }
            return object.text
        }
        object.add("answers", json: "[\(answers.joined(separator: ","))]")
        object.add("max_selections", json: String(maxSelections))
        object.add("disclosed", json: String(isDisclosed))
        object.add("ended", json: String(isEnded))
        if let voterCount { object.add("voters", json: String(voterCount)) }
        return object.text
    }
}

extension JSONLine {
    /// Adds the content of a message, a vote or the end of a poll, or a live location; nothing for other events.
    ///
    /// - Parameters:
    ///   - content: The current content of a message; `nil` uses that of the event.
    ///   - context: For the end of a poll: the poll with its votes.
    package mutating func add(
        message event: MXEvent, _ content: MatrixMessageContent? = nil, context: MatrixEventText.Context = .init()
    ) {
        if let poll = event.pollStartId {
            add("kind", event.pollPart == .end ? "poll_end" : "poll_vote")
            add("poll_id", poll)
            if let results = context.poll, results.voterCount != nil { add("poll", json: results.json) }
            return
        }
        if let location = event.liveLocation { return add(location) }
        guard event.isShownAsMessage else { return }
        let content = content ?? MatrixMessageContent(event.newVersion ?? event)
        add("kind", content.kind)
        add("text", content.line)
        add("reply_to", event.replyToEventId)
        add("thread_id", event.threadId)
        add("edits", event.editedEventId)
        if let file = content.attachment {
            add("filename", file.fileName)
            add("caption", file.caption)
            add("url", file.url)
            add("duration_ms", file.duration.map { Int($0 / .milliseconds(1)) })
        }
        switch content {
        case .location(_, let uri): add("geo_uri", uri)
        case .poll(let poll): add("poll", json: poll.json)
        case .text, .notice, .emote, .image, .video, .audio, .voice, .file, .sticker, .redacted, .encrypted,
            .unsupported:
            break
        }
    }

    private mutating func add(_ location: LiveLocation) {
        switch location {
        case .began(let description, let duration):
            add("kind", "live_location_start")
            add("text", location.line)
            add("description", description)
            add("duration_ms", duration.map { Int($0 / .milliseconds(1)) })
        case .ended:
            add("kind", "live_location_end")
            add("text", location.line)
        case .moved(let uri, _):
            add("kind", "live_location")
            add("text", location.line)
            add("geo_uri", uri)
        }
    }
}
