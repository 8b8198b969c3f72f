import Foundation
import JSONBytes
import MatrixProtocol

extension MatrixMessage {
    /// What an event says, with its last edit and its reactions.
    ///
    /// - Returns: Nil for events that are no messages: state, reactions, edits.
    init?(_ event: MXEvent, in room: MXRoom) {
        guard Self.isMessage(event) else { return nil }
        let shown = room.edited(event)
        let userId = room.core.userId
        let member = room.knownMember(event.sender)
        self.init(
            id: event.eventId, roomId: room.roomId,
            sender: MatrixUser(id: event.sender, displayName: member?.displayname, avatarURL: member?.avatarUrl),
            content: Content(shown), timestamp: event.date, isOwn: event.sender == userId, isEdited: shown.isEdited,
            replyToId: event.replyToEventId, threadId: event.threadId,
            reactions: event.isRedacted ? [] : MatrixReaction.all(of: event.eventId, in: room),
            sendStatus: SendStatus(event))
    }

    /// Whether people read it as a message of its own.
    static func isMessage(_ event: MXEvent) -> Bool {
        guard !event.isState, !event.isEdit else { return false }
        switch event.wireType {
        case "m.room.message", "m.room.encrypted", "m.sticker": return true
        default: return false
        }
    }
}

extension MatrixMessage.SendStatus {
    init(_ event: MXEvent) {
        switch event.sentState {
        case .sent: self = .sent
        case .preparing, .encrypting, .uploading, .sending: self = .sending
        case .failed: self = .failed(event.sentFailure ?? "it could not be sent")
        }
    }
}

extension MatrixMessage.Content {
    init(_ event: MXEvent) {
        let content = event.contentJSON
        if event.isRedacted {
            self = .redacted(reason: event.redactedBecause?["content"]?["reason"]?.string)
        } else if event.isEncrypted {
            self = .encrypted
        } else if event.type == "m.sticker" {
            self = .image(MatrixAttachment(content))
        } else {
            let body = event.body ?? ""
            switch content["msgtype"]?.string {
            case "m.text": self = .text(body, html: event.formattedBody)
            case "m.notice": self = .notice(body, html: event.formattedBody)
            case "m.emote": self = .emote(body, html: event.formattedBody)
            case "m.image": self = .image(MatrixAttachment(content))
            case "m.video": self = .video(MatrixAttachment(content))
            case "m.audio": self = .audio(MatrixAttachment(content))
            case "m.file": self = .file(MatrixAttachment(content))
            case "m.location": self = .location(body, uri: content["geo_uri"]?.string ?? "")
            case let type: self = .unsupported(type: type ?? event.type, body: event.body)
            }
        }
    }
}

extension MatrixAttachment {
    init(_ content: JSONView) {
        let (info, body) = (content["info"], content["body"]?.string ?? "")
        let name = content["filename"]?.string
        self.init(
            url: Self.url(content["url"] ?? content["file"]?["url"]), fileName: name ?? body,
            caption: name == nil || name == body || body.isEmpty ? nil : body, mimeType: info?["mimetype"]?.string,
            size: Self.size(info?["size"]), width: Self.size(info?["w"]), height: Self.size(info?["h"]),
            duration: Self.size(info?["duration"]).map { .milliseconds($0) },
            thumbnailURL: Self.url(info?["thumbnail_url"] ?? info?["thumbnail_file"]?["url"]))
    }

    private static func url(_ json: JSONView?) -> String? {
        json?.string.flatMap { MXContentURI($0) == nil ? nil : $0 }
    }

    private static func size(_ json: JSONView?) -> Int? { json?.int.flatMap { $0 >= 0 ? $0 : nil } }
}

extension MatrixReaction {
    /// The reactions to an event that are known here, in the order in which they first came.
    static func all(of eventId: String, in room: MXRoom) -> [MatrixReaction] {
        let summaries = room.aggregations(forEvent: eventId)?.reactions ?? [:]
        return summaries.values.sorted { ($0.originServerTs, $0.reaction) < ($1.originServerTs, $1.reaction) }.map {
            MatrixReaction(emoji: $0.reaction, userIds: $0.senders, count: $0.count, isOwn: $0.containsCurrentUser)
        }
    }
}

extension MatrixRoom {
    init(_ room: MXRoom) {
        self.init(room.summary, lastMessage: room.lastMessage.flatMap { MatrixMessage($0, in: room) })
    }
}
