import CommandKit
import Foundation

/// A push notification of a homeserver, as a line.
struct PushNotificationRecord: OutputRecord {
    let notification: PushNotification
    private let time: Date

    init(_ notification: PushNotification, at time: Date = Date()) {
        (self.notification, self.time) = (notification, time)
    }

    /// The record as a JSON object, without push keys.
    var json: String {
        var line = JSONLine(type: "push", time: time)
        line.add("channel", channel)
        line.add("event", notification.type)
        line.add("event_id", notification.eventID)
        line.add("sender", notification.sender)
        line.add("sender_display_name", notification.senderDisplayName)
        line.add("room_name", notification.roomName)
        line.add("content", json: notification.content)
        line.add("unread", notification.unread)
        line.add("missed_calls", notification.missedCalls)
        line.add("priority", notification.priority.rawValue)
        return line.text
    }

    /// Returns a line: `HH:MM:SS.mmm  channel  event  detail`.
    func text(style: TextStyle) -> TerminalText {
        let detail = [
            notification.content ?? notification.eventID, notification.sender.map { "(from \($0))" },
            notification.unread.map { "\($0) unread" },
        ]
        return [
            style.dim(Record.clock(time)), style.channel(channel ?? "-"), style.event(notification.type ?? "push"),
            TerminalText(detail.compactMap { $0 }.joined(separator: "  ")),
        ].inColumns()
    }

    /// The channel, named as for all room events.
    private var channel: String? { notification.roomID.map { "matrix:\($0)" } }
}
