public import Foundation

/// A comment on a file or folder.
public struct PydioComment: Sendable, Hashable {
    /// The id of the user who wrote it.
    public let author: String
    /// The text. Servers may join several comments of one author with `<br>`.
    public let content: String
    /// The time of the comment, by the server's clock; `nil` if the server doesn't report it.
    public let date: Date?
    /// The path of the commented node; `nil` if the server doesn't report it. Servers may include comments on a
    /// folder's contents in those on the folder.
    public let path: String?
    /// The server's identification of the comment, as JSON.
    package let identity: String

    /// - Returns: `nil` without an author or a text.
    init?(json: [String: Any]) {
        guard let author = json["author"] as? String, let content = json["content"] as? String else { return nil }
        (self.author, self.content) = (author, content)
        date = JSONNumber.integer(json["date"]).flatMap { NodeResponse.time(String($0)) }
        path = json["path"] as? String
        // Older servers compare the first three, newer ones look up the last.
        let named = json.filter { ["author", "content", "date", "uuid"].contains($0.key) }
        guard JSONSerialization.isValidJSONObject(named),
            let data = try? JSONSerialization.data(
                withJSONObject: named, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return nil }
        identity = String(decoding: data, as: UTF8.self)
    }
}
