import Basics

/// A bookmark of a user.
struct Bookmark: Sendable {
    let path: TreePath
    var title: String
}

/// Bookmarks and public links.
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

    // MARK: Public links

    private mutating func shareAnswer(_ call: Call) -> FakePydioAnswer {
        // The older servers know one name for what is shared.
        let path = mode == .v5_2 ? call["file"].map { TreePath($0) } : call.selection.first
        guard let path, tree(call.treeKey)[path] != nil else { return .error("Cannot find file!") }
        let id = Digest.random(12).lowercased()
        shares[call.treeKey, default: [:]][path, default: []].append(id)
        return .text(publicLink(id))
    }

    private func publicLink(_ id: String) -> String { "\(origin)\(configuration.basePath)/public/\(id)" }

    /// The newer servers do not find a share by its file, whatever there is.
    private func sharedElement(_ call: Call) -> FakePydioAnswer {
        guard let path = call.selection.first, tree(call.treeKey)[path] != nil else {
            return .error("Cannot find file!")
        }
        guard mode == .v5_2 else { return .error("Could not find any share data for \(path.text)") }
        guard let id = shares[call.treeKey]?[path]?.first else { return .json(.array([])) }
        return .json(
            .object([
                ("publiclet_link", .string(publicLink(id))), ("element_id", .string(id)),
                ("download_counter", .number(0)),
                ("download_limit", .number(0)), ("expire_time", .number(0)), ("has_password", .bool(false)),
            ]))
    }

    /// The older servers end one share and say nothing, the newer ones end all of them and say so even if there was none.
    private mutating func unshareAnswer(_ call: Call) -> FakePydioAnswer {
        guard let path = call.selection.first, tree(call.treeKey)[path] != nil else {
            return .error("Cannot find file!")
        }
        guard mode == .v5_2 else {
            shares[call.treeKey]?[path] = nil
            return .tree(XMLElement("message", [("type", "SUCCESS")], text: "The link has been removed"))
        }
        if var ids = shares[call.treeKey]?[path], !ids.isEmpty {
            ids.remove(at: call["element_id"].flatMap { ids.firstIndex(of: $0) } ?? 0)
            shares[call.treeKey]?[path] = ids.isEmpty ? nil : ids
        }
        return .empty
    }
}
