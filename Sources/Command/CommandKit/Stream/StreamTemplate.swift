package import Foundation
import JSONBytes

/// A text with placeholders for the fields of an event: `{{channel}} {{data.price}}`.
package struct StreamTemplate: Sendable {
    /// The reason why a text is not a valid template.
    package struct Malformed: Error, CustomStringConvertible {
        package let description: String
    }

    private enum Field: String, CaseIterable {
        case channel, event, data, userID = "user_id", time, type
    }

    private enum Part {
        case text(String)
        /// - Parameter path: The path within the JSON data: object keys and array indices.
        case field(Field, path: [String])
    }

    private let parts: [Part]

    /// - Parameter text: `\n`, `\t` and `\\` are a line end, a tab and a backslash, `\{` is a brace.
    package init(_ text: String) throws(Malformed) {
        var parts: [Part] = []
        var literal = ""
        var rest = text[...]
        while let first = rest.first {
            if first == "\\" {
                literal.append(try Self.escape(rest.dropFirst().first))
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("{{") {
                guard let end = rest.range(of: "}}") else {
                    throw Malformed(description: "A field that starts with {{ ends with }}.")
                }
                parts.append(.text(literal))
                literal = ""
                parts.append(try Self.field(rest[rest.index(rest.startIndex, offsetBy: 2)..<end.lowerBound]))
                rest = rest[end.upperBound...]
            } else {
                literal.append(first)
                rest = rest.dropFirst()
            }
        }
        self.parts = parts + [.text(literal)]
    }

    private static func escape(_ character: Character?) throws(Malformed) -> Character {
        switch character {
        case "n": return "\n"
        case "t": return "\t"
        case "\\", "{": return character ?? "\\"
        default: throw Malformed(description: #"A backslash is followed by n, t, { or another backslash."#)
        }
    }

    private static func field(_ words: Substring) throws(Malformed) -> Part {
        let steps = words.trimmingCharacters(in: .whitespaces).split(separator: ".", omittingEmptySubsequences: false)
            .map(String.init)
        guard let field = steps.first.flatMap(Field.init), steps.count == 1 || field == .data, !steps.contains("")
        else {
            let known = Field.allCases.map(\.rawValue).joined(separator: ", ")
            throw Malformed(
                description:
                    "There is no field {{\(words)}}: the fields are \(known), and paths into data like data.price."
            )
        }
        return .field(field, path: Array(steps.dropFirst()))
    }

    /// Whether the output includes the type of a record, so that it suits all types.
    package var takesEveryType: Bool {
        parts.contains { part in
            switch part {
            case .text: false
            case .field(let field, _): field == .type
            }
        }
    }

    /// - Parameter escape: Escapes values for output.
    package func text(of event: EventFields, at time: Date, escape: (String) -> String) -> String {
        var json: JSONView??
        return parts.reduce(into: "") { text, part in
            switch part {
            case .text(let literal): text += literal
            case .field(let field, let path):
                guard !path.isEmpty else {
                    text += escape(Self.value(of: field, in: event, at: time))
                    return
                }
                let data = json ?? event.data.flatMap { JSONView.isJSON($0) ? JSONView(Array($0.utf8)) : nil }
                json = data
                text += escape(Self.value(at: path, in: data))
            }
        }
    }

    private static func value(of field: Field, in event: EventFields, at time: Date) -> String {
        switch field {
        case .channel: event.channel ?? ""
        case .event: event.name ?? ""
        case .data: event.data ?? ""
        case .userID: event.userID ?? ""
        case .time: JSONLine.text(of: time)
        case .type: event.type
        }
    }

    /// Returns the text of a string, or the JSON text of another value; empty if there is none.
    private static func value(at path: [String], in data: JSONView?) -> String {
        let value = path.reduce(data) { value, step in value?[step] ?? Int(step).flatMap { value?[$0] } }
        return value.map { $0.string ?? $0.compactText } ?? ""
    }
}
