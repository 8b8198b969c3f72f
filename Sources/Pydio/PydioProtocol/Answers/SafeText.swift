import Basics
import Foundation

/// Text from a server that is safe to quote.
enum SafeText {
    /// Returns one line of at most `limit` characters, as created by ``PeerText``, without any of `secrets`.
    static func cleaned(_ text: String, limit: Int, without secrets: [String]) -> String {
        var result = text
        for secret in secrets where secret.count >= 3 { result = result.replacing(secret, with: "…") }
        let words = result.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return PeerText(words).line(limit: limit)
    }

    /// Returns the cleaned text of a page, without markup, scripts and styles.
    static func words(ofPage bytes: [UInt8], limit: Int, without secrets: [String]) -> String {
        // Truncate first, but far beyond the length that can be shown.
        var rest = Substring(String(decoding: bytes.prefix(16_384), as: UTF8.self))
        var text = ""
        while let tag = rest.firstIndex(of: "<") {
            text += rest[..<tag] + " "
            rest = rest[tag...]
            let name = rest.dropFirst().prefix { $0.isLetter }.lowercased()
            if name == "script" || name == "style" {
                guard let end = rest.range(of: "</" + name, options: .caseInsensitive) else {
                    rest = ""
                    break
                }
                rest = rest[end.upperBound...]
            }
            rest = rest.firstIndex(of: ">").map { rest[rest.index(after: $0)...] } ?? ""
        }
        return cleaned(text + rest, limit: limit, without: secrets)
    }
}
