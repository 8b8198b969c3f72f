import Foundation
import JSONBytes
import MatrixSDK

/// What happened in a room, or to the account, as a line.
struct MatrixEventRecord: Sendable {
    /// Names for people: looked up where they are shown only.
    struct Names: Sendable {
        var room: String?
        var sender: String?
    }

    let channel: String
    let name: String
    /// The event's JSON text.
    let data: String
    let userID: String?
    let notify: Bool
    let highlight: Bool
    var names = Names()

    init(_ event: RealtimeEvent) {
        (channel, name, data) = (event.channelName ?? "", event.eventName, event.data ?? "")
        roomID = Self.roomID(of: event)
        (userID, notify, highlight) = (event.userId, event.notify, event.highlight)
    }

    /// Nil for events of the account.
    let roomID: String?

    static func roomID(of event: RealtimeEvent) -> String? {
        guard let id = event.channelName?.dropFirst("matrix:".count), id.hasPrefix("!") else { return nil }
        return String(id)
    }

    var event: MXEvent? { MXEvent(data: Data(data.utf8), roomId: roomID) }

    /// Whether it is one of those that `--count` counts: messages and what else stands in a timeline, and invitations.
    var counts: Bool { name == MatrixEventName.invite || !(event?.eventId ?? "").isEmpty }

    func add(to line: inout JSONLine) {
        line.add("channel", channel)
        line.add("event", name)
        line.add("data", data)
        line.add("user_id", userID)
        line.add("room_id", roomID)
        line.add("sender", userID)
        line.add("event_id", event.flatMap { $0.eventId.isEmpty ? nil : $0.eventId })
        line.add("notify", json: String(notify))
        line.add("highlight", json: String(highlight))
    }

    /// Room, event, and what it says.
    var columns: (subject: String, what: String, detail: String) {
        let who = names.sender ?? userID
        let words = event.flatMap(MatrixEventText.init)?.text ?? data
        return (names.room ?? channel, name, who.map { "\($0): \(words)" } ?? words)
    }
}

/// What an event says, in words for people.
struct MatrixEventText {
    let text: String

    /// Nil for events without an id: what is made of them is their data.
    init?(_ event: MXEvent) { self.init(event, content: event.contentJSON) }

    /// - Parameter content: What the event says by now.
    init?(_ event: MXEvent, content: JSONView) {
        guard !event.eventId.isEmpty else { return nil }
        switch event.type {
        case "m.room.message": text = Self.message(content)
        case "m.room.encrypted": text = "(encrypted)"
        case "m.sticker": text = content["body"]?.string ?? "(sticker)"
        case "m.reaction":
            let relation = content["m.relates_to"]
            text = [relation?["key"]?.string, relation?["event_id"]?.string.map { "on \($0)" }]
                .compactMap { $0 }.joined(separator: " ")
        case "m.room.redaction": text = "removed \(event.redacts ?? "a message")"
        case "m.room.member": text = Self.membership(event)
        case "m.room.name": text = content["name"]?.string ?? ""
        case "m.room.topic": text = content["topic"]?.string ?? ""
        default: text = String(decoding: content.data, as: UTF8.self)
        }
    }

    private static func message(_ content: JSONView) -> String {
        // Redacted messages have nothing of this.
        guard let body = content["body"]?.string else { return "(removed)" }
        switch content["msgtype"]?.string {
        case "m.text", "m.notice", nil: return body
        case "m.emote": return "* \(body)"
        case let type?: return "\(body) (\(type)\(content["url"]?.string.map { " \($0)" } ?? ""))"
        }
    }

    private static func membership(_ event: MXEvent) -> String {
        let user = event.contentJSON["displayname"]?.string ?? event.stateKey ?? ""
        let reason = event.contentJSON["reason"]?.string.map { ": \($0)" } ?? ""
        return "\(user) \(event.contentJSON["membership"]?.string ?? "")\(reason)"
    }
}
