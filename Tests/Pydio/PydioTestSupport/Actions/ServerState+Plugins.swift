import Foundation

/// An entry of the feed.
struct Activity: Sendable {
    let path: TreePath
    let what: String
    let tree: TreeKey
    let author: String
    /// Unix time.
    let time: Int

    init(_ event: TreeEvent, tree: TreeKey, author: String, time: Int) {
        (self.tree, self.author, self.time) = (tree, author, time)
        switch event {
        case .created(let path): (self.path, what) = (path, "was created")
        case .updated(let path): (self.path, what) = (path, "was modified")
        case .moved(_, let to): (path, what) = (to, "was moved")
        case .deleted(let path, _): (self.path, what) = (path, "was deleted")
        }
    }
}

/// Answers of plugins.
extension ServerState {
    mutating func pluginAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer {
        switch action {
        case .search: return search(call)
        case .quota: return quota(call)
        case .loadFeed: return feed(call)
        case .editMetadata, .loadComments, .postComment, .deleteComment, .lock, .toggleWatch:
            guard let path = call.selection.first, let node = tree(call.treeKey)[path] else {
                return .error("Cannot find file!")
            }
            return answer(action, path, node, call)
        case _: return .empty
        }
    }

    private mutating func answer(
        _ action: Action, _ path: TreePath, _ node: Node, _ call: Call
    ) -> FakePydioAnswer {
        switch action {
        case .editMetadata: return editMetadata(path, call)
        case .loadComments: return .json(.array(node.notes.comments.map { comment($0, path) }))
        case .postComment: return postComment(path, call)
        case .deleteComment: return deleteComment(path, node, call)
        case .lock: return lock(path, call)
        case _: return toggleWatch(path, node, call)
        }
    }

    private mutating func change(_ path: TreePath, _ call: Call, _ body: (inout NodeNotes) -> Void) {
        changeTree(call.treeKey) { tree in tree.change(path) { body(&$0.notes) } }
    }

    private func update(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        .tree(diffXML(NodesDiff(updated: [(path, nil)]), call))
    }

    // MARK: Searching

    private func search(_ call: Call) -> FakePydioAnswer {
        if configuration.isIndexing {
            let text = "The index is being made, come back later"
            return mode == .v5_2
                ? .error(text) : .tree(XMLElement("message", [("type", "SUCCESS")], text: text))
        }
        let words = (call["query"] ?? "").lowercased().filter { $0 != "*" }
        var found: [XMLElement] = []
        tree(call.treeKey).root.forEach(at: .root) { path, node in
            guard words.isEmpty || path.name.lowercased().contains(words), !path.isInBin, path != .recycleBin,
                !path.pieces.isEmpty
            else { return }
            found.append(
                XMLElement("tree", element(path, node, call).attributes + [("search_score", "0.71")]))
        }
        // Older servers return everything that they find.
        if mode == .v8, let limit = call["limit"].flatMap({ Int($0) }) { found = Array(found.prefix(limit)) }
        return .tree(found.map(\.xml).joined())
    }

    private func quota(_ call: Call) -> FakePydioAnswer {
        .json(
            .object([
                ("USAGE", .number(tree(call.treeKey).root.totalSize)), ("TOTAL", .number(call.workspace.quota ?? 0)),
            ]))
    }

    /// Newest first. Older servers answer nothing if the feed is empty; newer ones number the entries.
    private func feed(_ call: Call) -> FakePydioAnswer {
        guard call["format"] == "xml" else { return .html("<h2>Notifications</h2><ul></ul>") }
        let all = activities.reversed().filter { $0.tree == call.treeKey }
        let offset = mode == .v8 ? call["offset"].flatMap { Int($0) } ?? 0 : 0
        let limit = mode == .v8 ? call["limit"].flatMap { Int($0) } ?? 15 : 10
        let chosen = all.dropFirst(offset).prefix(limit)
        if mode == .v5_2, chosen.isEmpty { return .empty }
        return .tree(chosen.enumerated().map { entry($0.element, $0.offset + 1, call).xml }.joined())
    }

    private func entry(_ activity: Activity, _ number: Int, _ call: Call) -> XMLElement {
        let node = tree(call.treeKey)[activity.path]
        var attributes =
            node.map { element(activity.path, $0, call).attributes }
            ?? [("is_file", "true"), ("filename", activity.path.text), ("text", activity.path.name)]
        attributes += [
            ("event_description", "\(activity.path.name) \(activity.what)"), ("repository_id", activity.tree.workspace),
            ("event_time", String(activity.time)),
        ]
        if mode == .v8 {
            attributes.removeAll { $0.0 == "filename" }
            attributes += [
                ("filename", "/notification_\(number)"), ("real_path", activity.path.text),
                ("event_author", activity.author), ("event_type", "notification"),
                ("event_description_long", "\(activity.path.name) \(activity.what) by \(activity.author)"),
            ]
        }
        return XMLElement("tree", attributes)
    }

    // MARK: Users' notes on nodes

    /// Ignores unknown fields.
    private mutating func editMetadata(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        for (name, _) in NodeNotes.fields {
            guard let value = call[name] else { continue }
            change(path, call) { $0.metadata[name] = value }
        }
        return update(path, call)
    }

    private func comment(_ comment: NodeNotes.Comment, _ path: TreePath) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("date", .number(comment.date)), ("author", .string(comment.author)), ("content", .string(comment.content)),
            ("hdate", .string("Just now")),
        ]
        if mode == .v8 { members += [("path", .string(path.text)), ("uuid", .string(comment.uuid))] }
        return .object(members)
    }

    private mutating func postComment(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        let new = NodeNotes.Comment(
            author: call.user.id, content: String((call["content"] ?? "").prefix(1000)), date: now,
            uuid: String(makeNodeID()))
        change(path, call) { $0.comments.append(new) }
        return .json(comment(new, path))
    }

    /// Silently keeps other users' comments.
    private mutating func deleteComment(_ path: TreePath, _ node: Node, _ call: Call) -> FakePydioAnswer {
        let data = (try? JSONSerialization.jsonObject(with: Data((call["comment_data"] ?? "").utf8))) as? [String: Any]
        let kept = node.notes.comments.filter { comment in
            guard comment.author == call.user.id, data?["author"] as? String == comment.author else { return true }
            return mode == .v8
                ? data?["uuid"] as? String != comment.uuid
                : data?["content"] as? String != comment.content || data?["date"] as? Int != comment.date
        }
        change(path, call) { $0.comments = kept }
        guard mode == .v5_2, data?["author"] as? String == call.user.id else { return .empty }
        return .json(.array(kept.map { comment($0, path) }))
    }

    /// Gives the lock to the caller, or removes it: the server does not check who holds it.
    private mutating func lock(_ path: TreePath, _ call: Call) -> FakePydioAnswer {
        change(path, call) { $0.lock = call["unlock"] == nil ? call.user.id : nil }
        return mode == .v8
            ? update(path, call)
            : .tree(XMLElement("reload_instruction", [("object", "data"), ("node", ""), ("file", "")]))
    }

    /// Asked to stop a watch that does not exist, the server adds an empty one.
    private mutating func toggleWatch(_ path: TreePath, _ node: Node, _ call: Call) -> FakePydioAnswer {
        let kinds = [
            "watch_change": "META_WATCH_CHANGE", "watch_read": "META_WATCH_READ", "watch_both": "META_WATCH_BOTH",
        ]
        let asked = call["watch_action"] ?? ""
        let stops = asked == "watch_stop" && node.notes.watches[call.user.id]?.isEmpty == false
        change(path, call) { $0.watches[call.user.id] = stops ? nil : kinds[asked] ?? "" }
        return update(path, call)
    }
}
