import CommandKit
import PydioSDK

/// A comment on a node, as a line.
struct CommentRecord: ListRecord {
    let comment: PydioComment
    /// The number of the comment on its node, from 1.
    let number: Int
    /// The requested node.
    let path: String
    let workspace: PydioWorkspace

    var json: String {
        var line = JSONLine(type: "comment")
        line.add("workspace_id", workspace.id)
        line.add("path", comment.path ?? path)
        line.add("number", number)
        line.add("author", comment.author)
        line.add("content", comment.content)
        line.add("date", comment.date.map(JSONLine.text))
        return line.text
    }

    /// Returns columns such as `2  2026-01-31 12:00  ada  The roof is missing.`
    func columns(style: TextStyle) -> [TerminalText] {
        [
            style.dim(String(number)), comment.date.map { style.dim(Record.minute($0)) } ?? "",
            style.channel(comment.author), TerminalText(comment.content),
        ]
    }
}
