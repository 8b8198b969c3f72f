import Foundation
import PusherProtocol
import PusherSwift

/// One line of output: what happened, when.
enum Record: Sendable {
    case state(from: ConnectionState, to: ConnectionState, socketID: String?)
    case subscribed(channel: String, members: Int?)
    case event(PusherEvent)
    case memberAdded(channel: String, PusherPresenceChannelMember)
    case memberRemoved(channel: String, PusherPresenceChannelMember)
    case error(PusherError)

    /// One JSON object, always with `type` and `time`.
    func json(at time: Date) -> String {
        "{" + members(at: time).map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private func members(at time: Date) -> [(String, String)] {
        let time = ("time", JSON.quoted(time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))
        switch self {
        case .state(let from, let to, let socketID):
            return [
                ("type", "\"state\""), time, ("from", JSON.quoted(from.stringValue())),
                ("to", JSON.quoted(to.stringValue())),
            ] + optional("socket_id", socketID)
        case .subscribed(let channel, let members):
            return [("type", "\"subscribed\""), time, ("channel", JSON.quoted(channel))]
                + (members.map { [("members", String($0))] } ?? [])
        case .event(let event):
            return [("type", "\"event\""), time] + optional("channel", event.channelName)
                + [("event", JSON.quoted(event.eventName))] + optional("data", event.data)
                + optional("user_id", event.userId)
        case .memberAdded(let channel, let member):
            return [
                ("type", "\"member_added\""), time, ("channel", JSON.quoted(channel)),
                ("user_id", JSON.quoted(member.userId)), ("user_info", member.userInfoJSON ?? "{}"),
            ]
        case .memberRemoved(let channel, let member):
            return [
                ("type", "\"member_removed\""), time, ("channel", JSON.quoted(channel)),
                ("user_id", JSON.quoted(member.userId)),
            ]
        case .error(let error):
            return [("type", "\"error\""), time] + optional("channel", error.channelName)
                + (error.code.map { [("code", String($0))] } ?? [])
                + [("message", JSON.quoted(error.message)), ("will_retry", String(error.willRetry))]
        }
    }

    private func optional(_ name: String, _ text: String?) -> [(String, String)] {
        text.map { [(name, JSON.quoted($0))] } ?? []
    }

    /// `HH:MM:SS.mmm  channel  event  data`
    func text(at time: Date, style: TextStyle) -> String {
        let (subject, what, detail) = columns
        return [style.dim(Self.clock(time)), style.channel(subject), style.event(what), style.printable(detail)]
            .filter { !$0.isEmpty }.joined(separator: "  ")
    }

    private var columns: (subject: String, what: String, detail: String) {
        switch self {
        case .state(let from, let to, let socketID):
            ("-", to.stringValue(), "was \(from.stringValue())" + (socketID.map { ", socket id \($0)" } ?? ""))
        case .subscribed(let channel, let members):
            (channel, "subscribed", members.map { "\($0) members" } ?? "")
        case .event(let event):
            (
                event.channelName ?? "-", event.eventName,
                (event.data ?? "") + (event.userId.map { "  (from \($0))" } ?? "")
            )
        case .memberAdded(let channel, let member):
            (channel, "member_added", [member.userId, member.userInfoJSON].compactMap { $0 }.joined(separator: " "))
        case .memberRemoved(let channel, let member): (channel, "member_removed", member.userId)
        case .error(let error): (error.channelName ?? "-", "error", error.description)
        }
    }

    static func clock(_ time: Date) -> String {
        let parts = Calendar.current.dateComponents([.hour, .minute, .second, .nanosecond], from: time)
        func digits(_ number: Int?, _ count: Int) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        return "\(digits(parts.hour, 2)):\(digits(parts.minute, 2)):\(digits(parts.second, 2))"
            + ".\(digits((parts.nanosecond ?? 0) / 1_000_000, 3))"
    }
}

/// How lines for people look.
struct TextStyle: Sendable {
    let isColored: Bool

    /// Colour on a terminal, unless `NO_COLOR` is set (no-color.org).
    static var standardOutput: TextStyle {
        TextStyle(isColored: StandardOutput.isTerminal && Environment["NO_COLOR"] == nil)
    }

    func dim(_ text: String) -> String { paint(text, "2") }
    func channel(_ text: String) -> String { paint(printable(text), "36") }
    func event(_ text: String) -> String { paint(printable(text), "1") }

    /// Control characters of a peer must not drive the terminal, nor break the line.
    func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return text }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                    scalar.properties.generalCategory == .control
                        ? Array(scalar.escaped(asASCII: true).unicodeScalars) : [scalar]
                }))
    }

    private func paint(_ text: String, _ code: String) -> String {
        isColored && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
