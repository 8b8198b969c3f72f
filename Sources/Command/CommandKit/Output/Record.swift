package import Foundation
package import MatrixSDK
package import PusherProtocol
package import PusherSwift

/// One line of output: an event with its time.
package enum Record: Sendable {
    case state(from: ConnectionState, to: ConnectionState, socketID: String?)
    /// A subscription, with the members of a presence channel at that time.
    case subscribed(channel: String, members: Int?)
    /// Events may have been missed.
    case gap(PusherGap)
    case signedIn(userID: String)
    case event(PusherEvent)
    /// An event from a stream.
    case consumed(ConsumedRecord)
    case watchlist(PusherEvent)
    case memberAdded(channel: String, PusherPresenceChannelMember)
    case memberRemoved(channel: String, PusherPresenceChannelMember)
    case error(PusherError)
    /// A state change of the sync with a homeserver.
    case matrixState(from: MXSessionState, to: MXSessionState)
    case matrixEvent(MatrixEventRecord)
    /// A state change of the connection that delivers a workspace's events.
    case pydioState(channel: String, workspace: String, from: ConnectionState, to: ConnectionState)
    case pydioEvent(PydioEventRecord)

    /// Returns a JSON object, always with `type` and `time`.
    package func json(at time: Date) -> String {
        var line = JSONLine(type: type, time: time)
        switch self {
        case .state(let from, let to, let socketID):
            line.add("from", from.stringValue())
            line.add("to", to.stringValue())
            line.add("socket_id", socketID)
        case .subscribed(let channel, let members):
            line.add("channel", channel)
            line.add("members", members)
        case .gap(let gap):
            line.add("channel", gap.channelName)
            line.add("from", JSONLine.text(of: gap.start))
            line.add("to", JSONLine.text(of: gap.end))
        case .signedIn(let userID): line.add("user_id", userID)
        case .event(let event): Self.add(event, to: &line)
        case .consumed(let record):
            if let gap = record.gap {
                line.add("channel", record.event.channelName)
                line.add("from", JSONLine.text(of: gap.start))
                line.add("to", JSONLine.text(of: gap.end))
                line.add("reason", gap.reason)
            } else {
                Self.add(record.event, to: &line)
            }
            line.add("sequence", json: "\(record.sequence)")
            if record.deliveries > 1 { line.add("deliveries", record.deliveries) }
            if record.mayBeRepeated { line.add("repeat", json: "true") }
        case .watchlist(let event):
            line.add("event", event.eventName)
            line.add("user_ids", json: Self.userIDs(event).flatMap(JSON.text))
        case .memberAdded(let channel, let member):
            line.add("channel", channel)
            line.add("user_id", member.userId)
            line.add("user_info", json: member.userInfoJSON ?? "{}")
        case .memberRemoved(let channel, let member):
            line.add("channel", channel)
            line.add("user_id", member.userId)
        case .error(let error):
            line.add("channel", error.channelName)
            line.add("code", error.code)
            line.add("message", Complaint.text(error.message))
            line.add("will_retry", json: String(error.willRetry))
        case .matrixState(let from, let to):
            line.add("source", "matrix")
            line.add("from", from.description)
            line.add("to", to.description)
        case .matrixEvent(let event): event.add(to: &line)
        case .pydioState(let channel, _, let from, let to):
            line.add("source", "pydio")
            line.add("channel", channel)
            line.add("from", from.stringValue())
            line.add("to", to.stringValue())
        case .pydioEvent(let event): event.add(to: &line)
        }
        return line.text
    }

    private static func add(_ event: PusherEvent, to line: inout JSONLine) {
        line.add("channel", event.channelName)
        line.add("event", event.eventName)
        line.add("data", event.data)
        line.add("user_id", event.userId)
        if event.origin != .live { line.add("cached", json: "true") }
    }

    private var type: String {
        switch self {
        case .state, .matrixState, .pydioState: "state"
        case .subscribed: "subscribed"
        case .gap: "gap"
        case .signedIn: "signed_in"
        case .consumed(let record): record.gap == nil ? "event" : "gap"
        case .event, .matrixEvent, .pydioEvent: "event"
        case .watchlist: "watchlist"
        case .memberAdded: "member_added"
        case .memberRemoved: "member_removed"
        case .error: "error"
        }
    }

    private static func userIDs(_ event: PusherEvent) -> [String]? {
        event.data.flatMap(JSON.object)?["user_ids"] as? [String]
    }

    /// Returns a line: `HH:MM:SS.mmm  channel  event  data`.
    package func text(at time: Date, style: TextStyle) -> TerminalText {
        let (subject, what, detail) = columns
        return [style.dim(Self.moment(time)), style.channel(subject), style.event(what), TerminalText(detail)]
            .inColumns()
    }

    package var columns: (subject: String, what: String, detail: String) {
        switch self {
        case .state(let from, let to, let socketID):
            ("-", to.stringValue(), "was \(from.stringValue())" + (socketID.map { ", socket id \($0)" } ?? ""))
        case .subscribed(let channel, let members):
            (channel, "subscribed", members.map { $0 == 1 ? "1 member" : "\($0) members" } ?? "")
        case .event(let event): Self.columns(of: event)
        case .consumed(let record):
            if let gap = record.gap {
                (
                    record.event.channelName ?? "-", "gap",
                    "events may be missing from \(Self.moment(gap.start)) to \(Self.moment(gap.end)) (\(gap.reason))"
                )
            } else {
                Self.columns(of: record.event)
            }
        case .gap(let gap):
            (
                gap.channelName, "gap",
                "events may be missing from \(Self.clock(gap.start)) to \(Self.clock(gap.end))"
            )
        case .signedIn(let userID): ("-", "signed_in", userID)
        case .watchlist(let event): ("-", event.eventName, (Self.userIDs(event) ?? []).joined(separator: " "))
        case .memberAdded(let channel, let member):
            (channel, "member_added", [member.userId, member.userInfoJSON].compactMap { $0 }.joined(separator: " "))
        case .memberRemoved(let channel, let member): (channel, "member_removed", member.userId)
        case .error(let error): (error.channelName ?? "-", "error", Complaint.text(error))
        case .matrixState(let from, let to): ("matrix", to.description, "was \(from)")
        case .matrixEvent(let event): event.columns
        case .pydioState(_, let workspace, let from, let to): (workspace, to.stringValue(), "was \(from.stringValue())")
        case .pydioEvent(let event): event.columns
        }
    }

    private static func columns(of event: PusherEvent) -> (subject: String, what: String, detail: String) {
        (
            event.channelName ?? "-", event.eventName,
            (event.data ?? "") + (event.userId.map { "  (from \($0))" } ?? "")
        )
    }

    /// The time of the event; `nil` for a current one.
    package var time: Date? {
        switch self {
        case .consumed(let record): record.time
        case .state, .subscribed, .gap, .signedIn, .event, .watchlist, .memberAdded, .memberRemoved, .error,
            .matrixState, .matrixEvent, .pydioState, .pydioEvent:
            nil
        }
    }

    /// Returns the time of day, preceded by the date if it is long ago.
    package static func moment(_ time: Date) -> String {
        guard -time.timeIntervalSinceNow > 43_200 else { return clock(time) }
        return minute(time).prefix(11) + clock(time)
    }

    /// Returns a time such as `2026-01-31 12:00`.
    package static func minute(_ time: Date) -> String {
        let parts = Calendar.current.dateComponents([.year, .month, .day, .hour, .minute], from: time)
        let date = [digits(parts.year, 4), digits(parts.month, 2), digits(parts.day, 2)].joined(separator: "-")
        return "\(date) \(digits(parts.hour, 2)):\(digits(parts.minute, 2))"
    }

    package static func clock(_ time: Date) -> String {
        let parts = Calendar.current.dateComponents([.hour, .minute, .second, .nanosecond], from: time)
        return "\(digits(parts.hour, 2)):\(digits(parts.minute, 2)):\(digits(parts.second, 2))"
            + ".\(digits((parts.nanosecond ?? 0) / 1_000_000, 3))"
    }

    private static func digits(_ number: Int?, _ count: Int) -> String {
        let text = String(number ?? 0)
        return String(repeating: "0", count: max(count - text.count, 0)) + text
    }
}

extension Record {
    /// Returns the record of a `pusher:subscription_succeeded`. The members are counted in the event's data: when a
    /// callback runs, the channel may already have more, whose `member_added` records are still to come.
    package static func subscribed(to event: PusherEvent) -> Record {
        let channel = event.channelName ?? ""
        let isPresence = (try? ChannelName(channel))?.kind == .presence
        let members = isPresence ? event.data.flatMap { PresenceList.memberCount(Array($0.utf8)) } : nil
        return .subscribed(channel: channel, members: members)
    }
}
