public import Foundation

/// A comment on a file or folder.
public struct PydioComment: Sendable, Hashable {
    /// The id of the user who wrote it.
    public let author: String
    /// What it says. Servers may join several comments of one author with `<br>`.
    public let content: String
    /// When it was written, by the server's clock; nil if the server does not say.
    public let date: Date?
    /// The node that it is on; nil if the server does not say. Servers may add to a folder's comments those on what is in it.
    public let path: String?
    /// What names it to the server: JSON.
    package let identity: String

    /// - Returns: Nil without an author or a text.
    init?(json: [String: Any]) {
        guard let author = json["author"] as? String, let content = json["content"] as? String else { return nil }
        (self.author, self.content) = (author, content)
        date = JSONNumber.integer(json["date"]).flatMap { NodeResponse.time(String($0)) }
        path = json["path"] as? String
        // Older servers compare these three, newer ones look for the last.
        let named = json.filter { ["author", "content", "date", "uuid"].contains($0.key) }
        guard JSONSerialization.isValidJSONObject(named),
            let data = try? JSONSerialization.data(
                withJSONObject: named, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return nil }
        identity = String(decoding: data, as: UTF8.self)
    }
}
