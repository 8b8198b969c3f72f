import Basics

/// A bookmark of a user.
struct Bookmark: Sendable {
    let path: TreePath
    var title: String
}

/// Bookmarks, and requests for public links.
extension ServerState {
    mutating func extraAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer {
        switch action {
        case .getBookmarks: bookmarksAnswer(call)
        case .share: shareAnswer(call)
        case .loadSharedElement: sharedElement(call)
        case .unshare: unshareAnswer(call)
        case _: .empty
        }
    }

    private mutating func bookmarksAnswer(_ call: Call) -> FakePydioAnswer {
        if let action = call["bm_action"], let text = call["bm_path"] {
            changeBookmarks(action, TreePath(text), call)
            publishBookmarks(call)
        }
        let own = bookmarks[call.treeKey]?[call.user.id] ?? []
        guard call["format"] != "node_list" else {
            let tree = tree(call.treeKey)
            let nodes = own.compactMap { bookmark in tree[bookmark.path].map { (bookmark.path, $0) } }
            return .tree(nodes.map { XMLElement("tree", element($0.0, $0.1, call).attributes).xml }.joined())
        }
        return .tree(own.map { XMLElement("bookmark", [("path", $0.path.text), ("title", $0.title)]).xml }.joined())
    }

    private mutating func changeBookmarks(_ action: String, _ path: TreePath, _ call: Call) {
        var own = bookmarks[call.treeKey]?[call.user.id] ?? []
        let title = call["bm_title"] ?? path.name
        let index = own.firstIndex { $0.path == path }
        switch (action, index) {
        case ("add_bookmark", nil): own.append(Bookmark(path: path, title: title))
        case ("delete_bookmark", let index?): own.remove(at: index)
        case ("rename_bookmark", let index?): own[index].title = title
        case _: break
        }
        bookmarks[call.treeKey, default: [:]][call.user.id] = own
    }
}
