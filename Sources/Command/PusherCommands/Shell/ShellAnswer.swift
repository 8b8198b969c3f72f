import CommandKit
import Foundation
import PusherSwift

/// The shell's answer to a command, in addition to records.
enum ShellAnswer: Sendable {
    struct Channel: Sendable {
        enum State: String, Sendable {
            case subscribed
            /// Waiting for the connection or the server's answer.
            case waiting
            case refused
        }

        let name: String
        let state: State
        /// The number of members, for a subscribed presence channel.
        let members: Int?
    }

    struct Status: Sendable {
        let state: ConnectionState
        let server: String
        let socketID: String?
        let userID: String?
        /// The round-trip time; `nil` if the server did not answer.
        let ping: Duration?
    }

    case unsubscribed(channel: String)
    /// - Parameter isWaiting: Whether the event is sent once the channel is subscribed.
    case sent(channel: String, event: String, isWaiting: Bool)
    case published(channel: String, event: String)
    case channels([Channel])
    case members(channel: String, [PusherPresenceChannelMember])
    case status(Status)
    case help(ShellVerb?)

    /// Returns lines of JSON; `nil` for help, which is only text.
    func json(at time: Date) -> [String]? {
        switch self {
        case .unsubscribed(let channel): [Self.line("unsubscribed", time) { $0.add("channel", channel) }]
        case .sent(let channel, let event, let isWaiting):
            [
                Self.line("sent", time) {
                    $0.add("channel", channel)
                    $0.add("event", event)
                    if isWaiting { $0.add("waiting", json: "true") }
                }
            ]
        case .published(let channel, let event):
            [
                Self.line("published", time) {
                    $0.add("channel", channel)
                    $0.add("event", event)
                }
            ]
        case .channels(let channels):
            channels.map { channel in
                Self.line("channel", time) {
                    $0.add("channel", channel.name)
                    $0.add("state", channel.state.rawValue)
                    $0.add("members", channel.members)
                }
            }
        case .members(let channel, let members):
            members.map { member in
                Self.line("member", time) {
                    $0.add("channel", channel)
                    $0.add("user_id", member.userId)
                    $0.add("user_info", json: member.userInfoJSON ?? "{}")
                }
            }
        case .status(let status):
            [
                Self.line("status", time) {
                    $0.add("state", status.state.stringValue())
                    $0.add("server", status.server)
                    $0.add("socket_id", status.socketID)
                    $0.add("user_id", status.userID)
                    $0.add("ping_ms", json: status.ping.map(Finding.milliseconds))
                }
            ]
        case .help: nil
        }
    }

    /// - Parameter width: The width of the terminal; `nil` if there is none.
    func text(width: Int?) -> [TerminalText] {
        switch self {
        case .unsubscribed(let channel): ["unsubscribed from \(channel)"]
        case .sent(let channel, let event, let isWaiting):
            isWaiting ? ["\(event) waits until \(channel) is subscribed"] : ["sent \(event) to \(channel)"]
        case .published(let channel, let event): ["published \(event) on \(channel)"]
        case .channels(let channels):
            channels.isEmpty
                ? ["no channels"]
                : ColumnLayout.table(
                    channels.map { channel in
                        let members = channel.members.map { $0 == 1 ? "1 member" : "\($0) members" } ?? ""
                        return [
                            TerminalText(channel.name), TerminalText(channel.state.rawValue), TerminalText(members),
                        ]
                    }, width: width)
        case .members(_, let members):
            members.isEmpty
                ? ["nobody"]
                : ColumnLayout.table(
                    members.map { [TerminalText($0.userId), TerminalText($0.userInfoJSON ?? "")] }, width: width)
        case .status(let status):
            ColumnLayout.table(
                [
                    ["connection", TerminalText(status.state.stringValue())],
                    ["server", TerminalText(status.server)],
                    ["socket id", TerminalText(status.socketID ?? "-")],
                    ["ping", status.ping.map { "\(Finding.milliseconds($0)) ms" } ?? "-"],
                    ["user", TerminalText(status.userID ?? "not signed in")],
                ], width: width)
        case .help(let verb?):
            ["\(verb.usage)", "  \(verb.summary)"] + verb.detail.map { "  \($0)" }
        case .help(nil):
            ColumnLayout.table(
                ShellVerb.allCases.map { [TerminalText($0.usage), TerminalText($0.summary)] }, width: width)
        }
    }

    private static func line(_ type: String, _ time: Date, _ add: (inout JSONLine) -> Void) -> String {
        var line = JSONLine(type: type, time: time)
        add(&line)
        return line.text
    }
}
