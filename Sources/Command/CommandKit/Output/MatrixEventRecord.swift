import Foundation
import JSONBytes
package import MatrixProtocol
package import MatrixSDK

/// An event of a room or of the account, as a line.
package struct MatrixEventRecord: Sendable {
    /// Display names, looked up only where they are shown.
    package struct Names: Sendable {
        package var room: String?
        package var sender: String?
    }

    package let channel: String
    package let name: String
    /// The event's JSON text.
    package let data: String
    package let userID: String?
    package let notify: Bool
    package let highlight: Bool
    package var names = Names()
    /// Earlier messages that the event refers to; in JSON, only the results of a poll that ends.
    package var context = MatrixEventText.Context()
    /// Whether the event arrived while no client was listening.
    package var isCaughtUp = false
    /// The shield for the sender of a message in an encrypted room.
    package var shield = MXMessageShield.none

    package init(_ event: RealtimeEvent) {
        (channel, name, data) = (event.channelName ?? "", event.eventName, event.data ?? "")
        roomID = Self.roomID(of: event)
        (userID, notify, highlight) = (event.userId, event.notify, event.highlight)
    }

    /// Creates a record for an event of a room's history.
    package init(_ event: MXEvent, in roomID: String, _ push: PushRules.Decision) {
        (channel, name, data) = ("matrix:" + roomID, event.type, String(decoding: event.clearJSON.data, as: UTF8.self))
        self.roomID = roomID
        (userID, notify, highlight) = (event.sender, push.notify, push.highlight)
        isCaughtUp = true
    }

    /// The room; `nil` for events of the account.
    package let roomID: String?

    package static func roomID(of event: RealtimeEvent) -> String? {
        guard let id = event.channelName?.dropFirst("matrix:".count), id.hasPrefix("!") else { return nil }
        return String(id)
    }

    package var event: MXEvent? { MXEvent(data: Data(data.utf8), roomId: roomID) }

    /// Whether `--count` counts the event: messages and other timeline events, and invitations.
    package var counts: Bool { name == MatrixEventName.invite || !(event?.eventId ?? "").isEmpty }

    /// Whether the event is still worth reporting later, unlike typing notifications, counts and the like.
    package var staysTrue: Bool { counts || [MatrixEventName.join, MatrixEventName.leave].contains(name) }

    package func add(to line: inout JSONLine) {
        line.add("channel", channel)
        line.add("event", name)
        line.add("data", data)
        line.add("user_id", userID)
        line.add("room_id", roomID)
        line.add("sender", userID)
        line.add("event_id", event.flatMap { $0.eventId.isEmpty ? nil : $0.eventId })
        if let event { line.add(message: event, context: context) }
        line.add("notify", json: String(notify))
        line.add("highlight", json: String(highlight))
        if isCaughtUp { line.add("caught_up", json: "true") }
        if shield != .none { line.add("shield", shield.name) }
    }

    /// The room, the event and its content.
    package var columns: (subject: String, what: String, detail: String) {
        let who = names.sender ?? userID
        let words = (event.flatMap { MatrixEventText($0, context: context) }?.text ?? data) + shield.mark + lateness
        return (names.room ?? channel, name, who.map { "\($0): \(words)" } ?? words)
    }
}

extension MatrixEventRecord {
    /// The time of sending, if the event arrived while no client was listening.
    private var lateness: String {
        guard isCaughtUp else { return "" }
        guard let event, event.originServerTs > 0 else { return "  (missed)" }
        return "  (missed; sent \(Record.minute(event.date)))"
    }
}
