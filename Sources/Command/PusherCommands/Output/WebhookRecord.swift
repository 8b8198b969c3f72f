import CommandKit
import Foundation
import PusherHTTP

/// One event of a webhook, as a line.
struct WebhookRecord: OutputRecord {
    let event: PusherWebhookEvent
    private let time: Date

    init(_ event: PusherWebhookEvent, at time: Date) {
        self.event = event
        // Formats truncate to milliseconds, and most times are slightly too low as floating-point numbers.
        self.time = time.addingTimeInterval(0.0005)
    }

    var json: String {
        var line = JSONLine(type: "webhook", time: time)
        line.add("name", name)
        switch event {
        case .channelOccupied(let channel), .channelVacated(let channel), .cacheMiss(let channel):
            line.add("channel", channel)
        case .memberAdded(let channel, let userID), .memberRemoved(let channel, let userID):
            line.add("channel", channel)
            line.add("user_id", userID)
        case .subscriptionCount(let channel, let count):
            line.add("channel", channel)
            line.add("subscription_count", count)
        case .clientEvent(let event):
            line.add("channel", event.channel)
            line.add("event", event.event)
            line.add("data", event.data)
            if event.isEncrypted { line.add("encrypted", json: "true") }
            line.add("socket_id", event.socketID)
            line.add("user_id", event.userID)
        case .unknown(_, let json): line.add("content", json: json)
        @unknown default: break
        }
        return line.text
    }

    /// Returns a line: `HH:MM:SS.mmm  channel  name  detail`.
    func text(style: TextStyle) -> TerminalText {
        let (channel, detail) = columns
        return [style.dim(Record.clock(time)), style.channel(channel), style.event(name), TerminalText(detail)]
            .inColumns()
    }

    private var name: String {
        switch event {
        case .channelOccupied: "channel_occupied"
        case .channelVacated: "channel_vacated"
        case .memberAdded: "member_added"
        case .memberRemoved: "member_removed"
        case .clientEvent: "client_event"
        case .cacheMiss: "cache_miss"
        case .subscriptionCount: "subscription_count"
        case .unknown(let name, _): name ?? "unknown"
        @unknown default: "unknown"
        }
    }

    private var columns: (channel: String, detail: String) {
        switch event {
        case .channelOccupied(let channel), .channelVacated(let channel), .cacheMiss(let channel): (channel, "")
        case .memberAdded(let channel, let userID), .memberRemoved(let channel, let userID): (channel, userID)
        case .subscriptionCount(let channel, let count): (channel, String(count))
        case .clientEvent(let event):
            (
                event.channel,
                [event.event, event.data, event.userID.map { "(from \($0))" }].compactMap { $0 }.joined(separator: "  ")
            )
        case .unknown(_, let json): ("-", json)
        @unknown default: ("-", "")
        }
    }
}
