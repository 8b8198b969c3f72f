import Basics
import CommandKit
import Foundation
import PusherMockServer

/// An event at the mock server, as a line. Texts of clients are shortened, and signatures are left out.
struct ServerRecord {
    private typealias Field = (name: String, value: Value)

    private enum Value {
        case text(String)
        case number(Int)
        case seconds(Double)
        case flag
    }

    private let time: Date
    private let type: String
    /// The fields of the JSON object, after `type` and `time`.
    private let fields: [Field]
    /// The channel, or `-`.
    private let subject: String
    let detail: String

    /// Returns whether to show an entry. Frames, pings, received webhooks and granted requests are not shown.
    static func isShown(_ entry: PusherMockServer.LogEntry) -> Bool {
        switch entry {
        case .connectionOpened, .connectionRefused, .connectionClosed, .subscribed, .unsubscribed, .subscriptionRefused,
            .published, .webhookFailed, .acceptingPaused, .missed:
            true
        case .httpRequest(_, _, let status): status >= 400
        case .frameReceived, .frameSent, .pingReceived, .pongReceived, .webhook, .webhookSent, .authRequest: false
        }
    }

    /// Returns whether to report the entry's detail to everyone, and not only when events are shown.
    static func isWarning(_ entry: PusherMockServer.LogEntry) -> Bool {
        if case .acceptingPaused = entry { true } else { false }
    }

    /// Returns `nil` for entries that are not shown.
    init?(_ entry: TimedLogEntry) {
        guard Self.isShown(entry.entry) else { return nil }
        time = entry.time
        var subject = "-"
        switch entry.entry {
        case .connectionOpened(let socketID, _):
            (type, fields) = ("connected", [("socket_id", .text(socketID))])
            detail = "socket id \(socketID)"
        case .connectionRefused(let code):
            (type, fields) = ("connection_refused", [("code", .number(code))])
            detail = "code \(code)"
        case .connectionClosed(let socketID, let code):
            (type, fields) = ("disconnected", [("socket_id", .text(socketID))] + Self.field("code", code))
            detail = "socket id \(socketID), \(code.map { "code \($0)" } ?? "without a close frame")"
        case .subscribed(let channel, let socketID):
            subject = Self.shown(channel)
            (type, fields) = ("subscribed", [("channel", .text(subject)), ("socket_id", .text(socketID))])
            detail = "socket id \(socketID)"
        case .unsubscribed(let channel, let socketID):
            subject = Self.shown(channel)
            (type, fields) = ("unsubscribed", [("channel", .text(subject)), ("socket_id", .text(socketID))])
            detail = "socket id \(socketID)"
        case .subscriptionRefused(let channel, let socketID, let reason):
            subject = Self.shown(channel)
            let reason = Self.shown(reason)
            (type, fields) = (
                "subscription_refused",
                [("channel", .text(subject)), ("socket_id", .text(socketID)), ("message", .text(reason))]
            )
            detail = "\(reason) (socket id \(socketID))"
        case .published(let event):
            subject = Self.shown(event.channel)
            (type, fields, detail) = Self.published(event)
        case .webhookFailed(let failure):
            let retry = failure.retryDelay.map { $0 / .seconds(1) }
            let reason = Self.shown(failure.reason)
            (type, fields) = (
                "webhook_failed",
                [("message", .text(reason))] + Self.field("status", failure.status)
                    + (retry.map { [("retry_after", .seconds($0))] } ?? [])
            )
            detail = reason + (retry.map { ", tried again in \($0.formatted()) s" } ?? ", given up")
        case .httpRequest(let method, let path, let status):
            let (method, path) = (Self.shown(method), Self.shown(path))
            (type, fields) = (
                "request_refused", [("method", .text(method)), ("path", .text(path)), ("status", .number(status))]
            )
            detail = "\(method) \(path): status \(status)"
        case .acceptingPaused(let reason):
            (type, fields) = ("accepting_paused", [("message", .text(reason))])
            detail = "new connections wait until others are closed: \(reason) (see ulimit -n)"
        case .missed(let count):
            (type, fields) = ("omitted", [("count", .number(count))])
            detail = "\(count) lines, which came faster than they could be written"
        case .frameReceived, .frameSent, .pingReceived, .pongReceived, .webhook, .webhookSent, .authRequest:
            return nil
        }
        self.subject = subject
    }

    private static func published(
        _ event: PusherMockServer.PublishedEvent
    ) -> (type: String, fields: [Field], detail: String) {
        let (channel, name, data) = (shown(event.channel), shown(event.event), shown(event.data))
        var fields: [Field] = [("channel", .text(channel)), ("event", .text(name)), ("data", .text(data))]
        if data != event.data { fields.append(("shortened", .flag)) }
        let recipients = event.recipientCount == 1 ? "1 recipient" : "\(event.recipientCount) recipients"
        let source: String
        let type: String
        switch event.origin {
        case .server: (type, source) = ("event", "from the server")
        case .httpAPI: (type, source) = ("event", "over the HTTP API")
        case .client(let socketID, let userID):
            fields.append(("socket_id", .text(socketID)))
            if let userID { fields.append(("user_id", .text(shown(userID)))) }
            (type, source) = ("client_event", "from \(userID.map(shown) ?? "socket id \(socketID)")")
        }
        if type == "event" { fields.append(("source", .text(event.origin == .httpAPI ? "http_api" : "server"))) }
        fields.append(("recipients", .number(event.recipientCount)))
        return (type, fields, "\(name)  \(data)  (\(source), \(recipients))")
    }

    private static func field(_ name: String, _ number: Int?) -> [Field] {
        number.map { [(name, .number($0))] } ?? []
    }

    /// The maximum number of characters of each untrusted text.
    static let maximumLength = 200

    /// Returns the beginning of a text without possible signatures.
    private static func shown(_ text: String) -> String {
        // Includes a signature that is cut off at the end.
        let window = String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumLength + 64)))
        let line = window.replacing(/[0-9a-fA-F]{64}/, with: "…")
        guard line.unicodeScalars.count > maximumLength || window.utf8.count < text.utf8.count else { return line }
        return String(String.UnicodeScalarView(line.unicodeScalars.prefix(maximumLength - 1))) + "…"
    }

    /// The record as a JSON object, always with `type` and `time`.
    var json: String {
        var line = JSONLine(type: type, time: time)
        for (name, value) in fields {
            switch value {
            case .text(let text): line.add(name, text)
            case .number(let number): line.add(name, number)
            case .seconds(let seconds): line.add(name, json: "\(seconds)")
            case .flag: line.add(name, json: "true")
            }
        }
        return line.text
    }

    /// Returns a line: `HH:MM:SS.mmm  channel  type  detail`.
    func text(style: TextStyle) -> TerminalText {
        [style.dim(Record.clock(time)), style.channel(subject), style.event(type), TerminalText(detail)].inColumns()
    }
}
