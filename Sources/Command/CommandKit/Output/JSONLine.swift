package import Foundation
import JSONBytes

/// A JSON object on one line: `type` and `time`, then the content.
package struct JSONLine {
    private var object = JSONWriter()

    package init(type: String, time: Date = Date()) {
        object.add("type", type)
        object.add("time", Self.text(of: time))
    }

    /// Returns a time as RFC 3339 with milliseconds.
    package static func text(of time: Date) -> String {
        time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Adds JSON text; does nothing for `nil`.
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
