import CommandKit
import PydioSDK

/// A bookmark, as a line.
struct BookmarkRecord: ListRecord {
    let bookmark: PydioBookmark
    let workspace: PydioWorkspace

    /// The root of a workspace may be empty.
    var path: String { bookmark.path.isEmpty ? "/" : bookmark.path }

    var json: String {
        var line = JSONLine(type: "bookmark")
        line.add("workspace_id", workspace.id)
        line.add("path", path)
        line.add("title", bookmark.title)
        return line.text
    }

    /// Returns columns such as `plans:/docs  Documents`.
    func columns(style: TextStyle) -> [TerminalText] {
        [style.event(workspace.remote(path)), TerminalText(bookmark.title)]
    }
}
