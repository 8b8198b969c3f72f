package import Foundation
import JSONBytes

/// One JSON object on a line: `type` and `time`, then what it is about.
package struct JSONLine {
    private var object = JSONWriter()

    package init(type: String, time: Date = Date()) {
        object.add("type", type)
        object.add("time", Self.text(of: time))
    }

    /// RFC 3339 with milliseconds.
    package static func text(of time: Date) -> String {
        time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Adds JSON text; nothing for nil.
    package mutating func add(_ name: String, json: String?) {
        if let json { object.add(name, json: json) }
    }

    package mutating func add(_ name: String, _ text: String?) {
        if let text { object.add(name, text) }
    }

    package mutating func add(_ name: String, _ number: Int?) {
        add(name, json: number.map(String.init))
    }

    package var text: String { object.text }
}
