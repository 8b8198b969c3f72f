import Foundation
import PusherProtocol

/// One JSON object on a line: `type` and `time`, then what it is about.
struct JSONLine {
    private var members: [(name: String, json: String)]

    init(type: String, time: Date = Date()) {
        members = [("type", JSON.quoted(type)), ("time", JSON.quoted(Self.text(of: time)))]
    }

    /// RFC 3339 with milliseconds.
    static func text(of time: Date) -> String {
        time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Adds JSON text; nothing for nil.
    mutating func add(_ name: String, json: String?) {
        if let json { members.append((name, json)) }
    }

    mutating func add(_ name: String, _ text: String?) {
        add(name, json: text.map(JSON.quoted))
    }

    mutating func add(_ name: String, _ number: Int?) {
        add(name, json: number.map(String.init))
    }

    var text: String { "{" + members.map { "\(JSON.quoted($0.name)):\($0.json)" }.joined(separator: ",") + "}" }
}
