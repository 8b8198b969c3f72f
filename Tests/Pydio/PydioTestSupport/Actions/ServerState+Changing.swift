/// Actions that change the tree. Each is reported differently to its caller and to listeners.
extension ServerState {
    /// The result of a change, or the reason for its failure.
    struct Outcome {
        var message: String
        var diff = NodesDiff()
        var events: [TreeEvent] = []
        var failure: String?

        static func failed(_ text: String) -> Outcome { Outcome(message: "", failure: text) }
    }

    mutating func changeAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer {
        // Real servers do nothing and answer nothing if they do not know the action, or are not in the bin.
        if action == .emptyRecycle, mode == .v5_2 { return .empty }
        if action == .restore, !call.isInBin { return .empty }
        if action == .crossCopy { return crossCopy(call) }
        if let path = lockedByOthers(action, call) { return .error("\(path.name) is locked by another user") }
        let outcome = outcome(of: action, call)
        if let failure = outcome.failure { return .error(failure) }
        publish(outcome.events, call)
        if action == .purge { return .empty }
        return success(outcome.message, outcome.diff, call)
    }

    mutating func outcome(of action: Action, _ call: Call) -> Outcome {
        switch action {
        case .makeFolder: makeFolder(call)
        case .makeFile: makeFile(call)
        case .rename: rename(call)
        case .copy, .move: transfer(call, isMove: action == .move)
        case .delete: delete(call)
        case .restore: restore(call)
        case .emptyRecycle: emptyRecycle(call)
        case .changeMode: changeMode(call)
        case .compress: compress(call)
        case _: Outcome(message: "")
        }
    }

    func success(_ message: String, _ diff: NodesDiff, _ call: Call) -> FakePydioAnswer {
        let message = XMLElement("message", [("type", "SUCCESS")], text: message)
        return .tree(message.xml + diffXML(diff, call))
    }

    /// The newer servers add a notice that there are messages to consume.
    func diffXML(_ diff: NodesDiff, _ call: Call) -> String {
        guard !diff.isEmpty else { return "" }
        let notice = mode == .v8 && configuration.hasPolling ? XMLElement("consume_channel").xml : ""
        return diffElement(diff, call).xml + notice
    }

    func diffElement(_ diff: NodesDiff, _ call: Call) -> XMLElement {
        let tree = tree(call.treeKey)
        var parts: [XMLElement] = []
        if !diff.removed.isEmpty {
            parts.append(XMLElement("remove", [], diff.removed.map { XMLElement("tree", [("filename", $0.text)]) }))
        }
        if !diff.added.isEmpty {
            parts.append(XMLElement("add", [], diff.added.map { nodeElement($0, tree[$0], nil, call) }))
        }
        if !diff.updated.isEmpty {
            parts.append(
                XMLElement("update", [], diff.updated.map { nodeElement($0.path, tree[$0.path], $0.original, call) }))
        }
        if let folder = diff.nameless {
            let attributes = [("is_file", "false"), ("filename", folder.text + "/"), ("text", "")]
            parts.append(XMLElement("update", [], [XMLElement("tree", attributes)]))
        }
        return XMLElement("nodes_diff", [], parts)
    }

    /// A node that no longer exists has neither size nor time.
    private func nodeElement(_ path: TreePath, _ node: Node?, _ original: TreePath?, _ call: Call) -> XMLElement {
        var attributes =
            node.map { element(path, $0, call).attributes }
            ?? [("is_file", "true"), ("filename", path.text), ("text", path.name)]
        if let original { attributes.append(("original_path", original.text)) }
        if mode == .v8 { attributes.append(("node_repository_id", call.workspace.id)) }
        return XMLElement("tree", attributes)
    }

    // MARK: One node

    private mutating func makeFolder(_ call: Call) -> Outcome {
        let path =
            call["dirname"].map { TreePath(call["dir"] ?? "/") / TreePath.cleaned($0) }
            ?? call.selection.first.map { $0.parent / TreePath.cleaned($0.name) } ?? .root
        guard !path.name.isEmpty else { return .failed("The folder needs a name") }
        guard !path.name.hasPrefix(".") else { return .failed("Forbidden") }
        let tree = tree(call.treeKey)
        guard tree[path] == nil else {
            if call.isSet("ignore_exists") { return Outcome(message: "The directory \(path.name) is there") }
            return .failed("This directory already exists (names are case insensitive)")
        }
        guard tree.isFolder(path.parent) else { return .failed("Cannot find the folder \(path.parent.shown)") }
        put(.folder(id: makeNodeID(), now: now), at: path, call)
        return Outcome(
            message: "The directory \(path.name) has been created in \(path.parent.shown)",
            diff: NodesDiff(added: [path]), events: [.created(path)])
    }

    private mutating func makeFile(_ call: Call) -> Outcome {
        let path =
            call["node"].map { TreePath($0) }.map { $0.parent / TreePath.cleaned($0.name) }
            ?? TreePath(call["dir"] ?? "/") / TreePath.cleaned(call["filename"] ?? "")
        guard !path.name.isEmpty else { return .failed("The file needs a name") }
        guard !path.name.hasPrefix(".") else { return .failed("Forbidden") }
        let tree = tree(call.treeKey)
        guard tree[path] == nil || call.isSet("force") else { return .failed("This file already exists") }
        guard tree.isFolder(path.parent), let content = try? FileContent(Array((call["content"] ?? "").utf8)) else {
            return .failed("Cannot find the folder \(path.parent.shown)")
        }
        put(.file(content, id: tree[path]?.id ?? makeNodeID(), now: now), at: path, call)
        return Outcome(
            message: "The file \(path.name) has been created in \(path.parent.shown)",
            diff: NodesDiff(added: [path]), events: [tree[path] == nil ? .created(path) : .updated(path)])
    }

    private mutating func rename(_ call: Call) -> Outcome {
        guard let from = call.selection.first else { return .failed("The selection is empty!") }
        // A whole path overrides the new name, and is used unchanged.
        let to = call["dest"].map { TreePath($0) } ?? from.parent / TreePath.cleaned(call["filename_new"] ?? "")
        guard call["dest"] != nil || !to.name.hasPrefix(".") else { return .failed("Forbidden") }
        let tree = tree(call.treeKey)
        guard let node = tree[from] else { return .failed("Cannot find file!") }
        guard !to.name.isEmpty, tree[to] == nil else {
            return .failed("A file with the name \(to.name) already exists")
        }
        guard tree.isFolder(to.parent), !to.isAtOrBelow(from) else {
            return .failed("Cannot find the folder of the new name")
        }
        relocate(node, from: from, to: to, call)
        var outcome = Outcome(
            message: "\(from.name) has been renamed to \(to.name)",
            diff: NodesDiff(updated: [(to, from)]), events: [.moved(from: from, to: to)])
        if call["dest"] != nil {
            outcome.message = "\(from.name) has been renamed to "
            outcome.diff = NodesDiff(nameless: from.parent)
        }
        return outcome
    }

    // MARK: Several nodes

    private mutating func transfer(_ call: Call, isMove: Bool) -> Outcome {
        guard !call.selection.isEmpty else { return .failed("The selection is empty!") }
        let folder = TreePath(call["dest"] ?? "/")
        guard tree(call.treeKey).isFolder(folder) else { return .failed("Cannot find the folder \(folder.shown)") }
        var outcome = Outcome(message: isMove ? "The selection has been moved" : "The selection has been copied")
        for from in call.selection {
            guard let node = tree(call.treeKey)[from], !folder.isAtOrBelow(from) || !node.isFolder else {
                return .failed("Cannot find file!")
            }
            if tree(call.treeKey).isArchived(from) {
                // Unpacking overwrites existing nodes.
                let now = now
                put(node.copied(now: now) { makeNodeID() }, at: folder / from.name, call)
                outcome.diff.added.append(folder / from.name)
                outcome.events.append(.created(folder / from.name))
                continue
            }
            if isMove && from.parent == folder { continue }
            let to = tree(call.treeKey).freePath(folder / from.name)
            if isMove {
                relocate(node, from: from, to: to, call)
                outcome.diff.removed.append(from)
                outcome.events.append(.moved(from: from, to: to))
            } else {
                let now = now
                put(node.copied(now: now) { makeNodeID() }, at: to, call)
                outcome.events.append(.created(to))
            }
            // A copy is made beside its original, but the answer names the original.
            outcome.diff.added.append(!isMove && from.parent == folder ? from : to)
        }
        return outcome
    }

    private mutating func delete(_ call: Call) -> Outcome {
        guard !call.selection.isEmpty else { return .failed("The selection is empty!") }
        var outcome = Outcome(message: "The selection has been deleted")
        for path in call.selection {
            let tree = tree(call.treeKey)
            guard let node = tree[path], !path.pieces.isEmpty, path != .recycleBin else {
                return .failed("Cannot find file!")
            }
            let isMoved = tree.hasRecycleBin && !call.isInBin && !call.isSet("force_deletion")
            guard !isMoved || path.parent != .recycleBin else {
                return .failed("The origin and destination folders are the same!")
            }
            outcome.diff.removed.append(path)
            if isMoved {
                let to = tree.freePath(.recycleBin / path.name)
                var recycled = node
                recycled.origin = path
                relocate(recycled, from: path, to: to, call)
                outcome.diff.added.append(to)
                outcome.events.append(.moved(from: path, to: to))
            } else {
                remove(path, call)
                outcome.events.append(.deleted(path, node))
            }
        }
        return outcome
    }

    private mutating func restore(_ call: Call) -> Outcome {
        guard !call.selection.isEmpty else { return .failed("The selection is empty!") }
        var outcome = Outcome(message: "The selection has been restored")
        for path in call.selection {
            let tree = tree(call.treeKey)
            guard path.isInBin, var node = tree[path] else { return .failed("Cannot find file!") }
            let wanted = node.origin ?? .root / path.name
            let to = tree.freePath(tree.isFolder(wanted.parent) ? wanted : .root / wanted.name)
            node = node.copied(now: node.modified) { makeNodeID() }  // a different node in the feed
            relocate(node, from: path, to: to, call)
            outcome.diff.removed.append(path)
            outcome.diff.added.append(to)
            outcome.events.append(.moved(from: path, to: to))
        }
        return outcome
    }

    private mutating func emptyRecycle(_ call: Call) -> Outcome {
        var outcome = Outcome(message: "The recycle bin has been emptied")
        for (name, node) in tree(call.treeKey)[.recycleBin]?.children ?? [:] {
            let path = TreePath.recycleBin / name.text
            remove(path, call)
            outcome.diff.removed.append(path)
            outcome.events.append(.deleted(path, node))
        }
        return outcome
    }

    /// Only the caller is notified.
    private mutating func changeMode(_ call: Call) -> Outcome {
        var outcome = Outcome(message: "The rights have been changed")
        for path in call.selection {
            guard tree(call.treeKey)[path] != nil else { return .failed("Cannot find file!") }
            changeTree(call.treeKey) { $0.change(path) { $0.mode = call["chmod_value"] ?? $0.mode } }
            outcome.diff.updated.append((path, nil))
        }
        return outcome
    }

    private mutating func compress(_ call: Call) -> Outcome {
        let tree = tree(call.treeKey)
        let nodes = call.selection.compactMap { path in tree[path].map { (path, $0) } }
        let folder = TreePath(call["dir"] ?? "/")
        let name = TreePath(call["archive_name"] ?? (folder.name.isEmpty ? "Files" : folder.name) + ".zip").name
        guard !nodes.isEmpty, tree.isFolder(folder), let file = try? ZipFile.make(nodes) else {
            return .failed("The selection is empty!")
        }
        // An existing node is silently replaced.
        let path = folder / name
        var archive = Node.file(.disk(file, size: file.size), id: makeNodeID(), now: now)
        archive.archived = Dictionary(nodes.map { (FileName($0.0.name), $0.1) }) { $1 }
        put(archive, at: path, call)
        return Outcome(
            message: "The archive \(path.name) has been created", diff: NodesDiff(added: [path]),
            events: [.created(path)])
    }

    // MARK: Between workspaces

    /// Silently replaces a node with the name in the other workspace. The answer only covers this workspace.
    private mutating func crossCopy(_ call: Call) -> FakePydioAnswer {
        let isMove = call["moving_files"] != nil
        guard let workspace = workspaces(of: call.user).first(where: { $0.id == call["dest_repository_id"] }),
            call.user.rights(in: workspace.id)?.contains(.write) == true, !isMove || call.rights.contains(.write)
        else { return .error("You are not allowed to write in this workspace") }
        var other = call
        other.workspace = workspace
        let folder = TreePath(call["dest"] ?? "/")
        guard tree(other.treeKey).isFolder(folder) else { return .error("Cannot find the folder \(folder.shown)") }
        var diff = NodesDiff()
        for from in call.selection {
            guard let node = tree(call.treeKey)[from] else { return .error("Cannot find file!") }
            let now = now
            put(node.copied(now: now) { makeNodeID() }, at: folder / from.name, other)
            publish([.created(folder / from.name)], other)
            guard isMove else { continue }
            remove(from, call)
            publish([.deleted(from, node)], call)
            diff.removed.append(from)
        }
        return success("The selection has been copied", mode == .v8 ? diff : NodesDiff(), call)
    }

    /// The first selected node that another user has locked.
    private func lockedByOthers(_ action: Action, _ call: Call) -> TreePath? {
        guard [.rename, .move, .delete, .changeMode].contains(action), configuration.plugins.contains(.locks) else {
            return nil
        }
        let tree = tree(call.treeKey)
        return call.selection.first { tree[$0]?.notes.lock.map { $0 != call.user.id } ?? false }
    }

    // MARK: The tree

    mutating func put(_ node: Node, at path: TreePath, _ call: Call) {
        let now = now
        changeTree(call.treeKey) { $0.put(node, at: path, now: now) }
    }

    private mutating func remove(_ path: TreePath, _ call: Call) {
        let now = now
        changeTree(call.treeKey) { _ = $0.remove(path, now: now) }
    }

    private mutating func relocate(_ node: Node, from: TreePath, to: TreePath, _ call: Call) {
        remove(from, call)
        put(node, at: to, call)
    }
}
