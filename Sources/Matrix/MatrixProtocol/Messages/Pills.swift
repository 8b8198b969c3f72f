import Foundation

/// A user mentioned by name in a message.
public struct MXMention: Sendable, Hashable {
    /// The user.
    public var userId: String
    /// The name as it appears in the text.
    public var name: String

    /// Creates a mention of a user by name.
    public init(userId: String, name: String) { (self.userId, self.name) = (userId, name) }
}

/// Turns users' names into links, which clients show as pills (client-server specification, "User, room, and group
/// mentions").
enum Pills {
    /// Private-use characters replace the links while Markdown is parsed, so that it finds no markup in names.
    private static let first: UInt32 = 0xF0000
    private static let maximum = 256

    /// - Returns: The text in HTML, or `nil` if that would add nothing, and the users mentioned in it.
    static func html(_ text: String, naming users: [MXMention]) -> (html: String?, mentioned: [String]) {
        let isPrivate = text.unicodeScalars.contains { $0.value >= first }
        guard !users.isEmpty, !isPrivate else { return (Markdown.html(text), isPrivate ? named(in: text, users) : []) }
        var (rest, marked, links, mentioned) = (text[...], "", [String](), [String]())
        // If two names begin at the same place, the longer one wins.
        let users = users.filter { !$0.name.isEmpty }.sorted { $0.name.count > $1.name.count }
        while !rest.isEmpty {
            let atStart = marked.last.map { !$0.isLetter && !$0.isNumber } ?? true
            guard atStart, links.count < maximum, let user = users.first(where: { begins(rest, with: $0.name) }),
                let sign = Unicode.Scalar(first + UInt32(links.count)), let url = url(of: user.userId)
            else {
                marked.append(rest.removeFirst())
                continue
            }
            links.append("<a href=\"\(Markdown.escaped(url))\">\(Markdown.escaped(user.name))</a>")
            marked.unicodeScalars.append(sign)
            if !mentioned.contains(user.userId) { mentioned.append(user.userId) }
            rest = rest.dropFirst(user.name.count)
        }
        guard !links.isEmpty else { return (Markdown.html(text), []) }
        let html = Markdown.html(marked) ?? Markdown.escaped(marked).replacing("\n", with: "<br>")
        return (filled(html, links), mentioned)
    }

    private static func named(in text: String, _ users: [MXMention]) -> [String] {
        users.filter { !$0.name.isEmpty && text.contains($0.name) }.map(\.userId)
    }

    private static func begins(_ text: Substring, with name: String) -> Bool {
        guard text.hasPrefix(name) else { return false }
        return text.dropFirst(name.count).first.map { !$0.isLetter && !$0.isNumber } ?? true
    }

    private static func url(of userId: String) -> String? {
        userId.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(["/"]))
            .map { "https://matrix.to/#/\($0)" }
    }

    private static func filled(_ html: String, _ links: [String]) -> String {
        var output = ""
        for scalar in html.unicodeScalars {
            let index = Int(scalar.value) - Int(first)
            if links.indices.contains(index) { output += links[index] } else { output.unicodeScalars.append(scalar) }
        }
        return output
    }
}
