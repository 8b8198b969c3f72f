import CommandKit
import PydioSDK

/// A bookmark, as a line.
struct BookmarkRecord: ListRecord {
    let bookmark: PydioBookmark
    let workspace: PydioWorkspace

    /// The top of a workspace may be nothing.
    var path: String { bookmark.path.isEmpty ? "/" : bookmark.path }

    var json: String {
        var line = JSONLine(type: "bookmark")
        line.add("workspace_id", workspace.id)
        line.add("path", path)
        line.add("title", bookmark.title)
        return line.text
    }

    /// `plans:/docs  Documents`
    func columns(style: TextStyle) -> [TerminalText] {
        [style.event(workspace.remote(path)), TerminalText(bookmark.title)]
    }
}
