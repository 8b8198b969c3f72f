import Foundation

/// Names of files that come from others.
package enum FileName {
    /// Returns the file name of a `Content-Disposition` header field (RFC 6266), made safe for a local folder: no
    /// folders, no hidden files, no control or direction characters, at most 200 bytes. Nil if nothing is left.
    package static func sanitised(contentDisposition: String?) -> String? {
        guard let contentDisposition else { return nil }
        let parameters = parameters(of: contentDisposition)
        return (parameters["filename*"].flatMap { extended($0) } ?? parameters["filename"]).flatMap { sanitised($0) }
    }

    /// Returns a name made safe in the same way.
    package static func sanitised(_ name: String) -> String? {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
        let scalars = last.unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
            default: true  // letters, marks, numbers, punctuation, symbols and spaces
            }
        }
        var kept = String(String.UnicodeScalarView(scalars)).drop { $0 == "." || $0.isWhitespace }
        while let end = kept.last, end == "." || end.isWhitespace { kept.removeLast() }
        while kept.utf8.count > 200 { kept.removeLast() }
        return kept.isEmpty ? nil : String(kept)
    }

    /// Returns `name`, `name 1`, …, for names already in use. The number comes before the extension.
    package static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 0 else { return name }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(name) \(number)" }
        return "\(name[..<dot]) \(number)\(name[dot...])"
    }

    /// Decodes `UTF-8''name`, percent-encoded.
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return String(parts[2]).removingPercentEncoding
    }

    private static func parameters(of field: String) -> [String: String] {
        var parameters: [String: String] = [:]
        var rest = Substring(field).drop { $0 != ";" }
        while rest.first == ";" {
            rest = rest.dropFirst().drop { $0.isWhitespace }
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            guard rest.first == "=" else { continue }
            let (value, after) = value(rest.dropFirst())
            let key = name.trimmingCharacters(in: .whitespaces).lowercased()
            if parameters[key] == nil { parameters[key] = value }
            rest = after.drop { $0 != ";" }
        }
        return parameters
    }

    /// Parses a quoted string or a word.
    private static func value(_ text: Substring) -> (String, Substring) {
        let text = text.drop { $0 == " " }
        guard text.first == "\"" else {
            let word = text.prefix { $0 != ";" }
            return (word.trimmingCharacters(in: .whitespaces), text.dropFirst(word.count))
        }
        var value = ""
        var rest = text.dropFirst()
        while let next = rest.first, next != "\"" {
            rest = rest.dropFirst()
            // A backslash escapes a quote or itself. Clients that send folders with backslashes don't escape them.
            if next == "\\", let escaped = rest.first, escaped == "\"" || escaped == "\\" {
                value.append(escaped)
                rest = rest.dropFirst()
            } else {
                value.append(next)
            }
        }
        return (value, rest.dropFirst())
    }
}
