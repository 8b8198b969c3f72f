import Foundation
import JSONBytes

/// One JSON object on a line: `type` and `time`, then what it is about.
struct JSONLine {
    private var object = JSONWriter()

    init(type: String, time: Date = Date()) {
        object.add("type", type)
        object.add("time", Self.text(of: time))
    }

    /// RFC 3339 with milliseconds.
    static func text(of time: Date) -> String {
        time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Adds JSON text; nothing for nil.
    mutating func add(_ name: String, json: String?) {
        if let json { object.add(name, json: json) }
    }

    mutating func add(_ name: String, _ text: String?) {
        if let text { object.add(name, text) }
    }

    mutating func add(_ name: String, _ number: Int?) {
        add(name, json: number.map(String.init))
    }

    var text: String { object.text }
}
