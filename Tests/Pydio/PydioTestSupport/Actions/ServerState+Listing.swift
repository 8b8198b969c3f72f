/// `ls`.
extension ServerState {
    /// Letters of `options`.
    private struct Options {
        let letters: String

        var isFull: Bool { letters.contains("l") }
        func has(_ letter: Character) -> Bool { letters.contains("a") || letters.contains(letter) }
    }

    private struct Limits {
        var depth: Int
        var nodes: Int
    }

    func listAnswer(_ call: Call) -> FakePydioAnswer {
        guard call.rights.contains(.read) else {
            return call.rights.contains(.write) ? .tree("") : .refusal("You have no read permission on this folder")
        }
        var dir = call["dir"] ?? "/"
        var page = 1
        // Page numbers are escaped twice. A name that looks like one is, too: the servers cannot tell them apart.
        if let mark = dir.firstRange(of: "%23") {
            page = max(Int(dir[mark.upperBound...].prefix { $0.isASCII && $0.isNumber }) ?? 1, 1)
            dir = String(dir[..<mark.lowerBound])
        }
        let path = TreePath(dir)
        let tree = tree(call.treeKey)
        guard let node = tree[path], node.isFolder || node.archived != nil else {
            return .error("Error while trying to open directory \(path.shown)")
        }
        let options = Options(letters: call["options"] ?? "a")
        var limits = Limits(depth: 1, nodes: .max)
        if call.isSet("recursive") {
            limits = Limits(
                depth: call["max_depth"].flatMap { Int($0) } ?? .max,
                nodes: call["max_nodes"].flatMap { Int($0) } ?? .max)
        }
        var attributes = element(path, node, call, isFull: options.isFull).attributes
        if path.pieces.isEmpty {
            attributes.removeAll { $0.0 == "ajxp_relativetime" }
            attributes.insert(("repo_has_recycle", String(tree.hasRecycleBin)), at: 0)
        }
        var children = entries(of: node, at: path, options, call)
        if let file = call["file"] {
            let name = FileName(TreePath(file).name)
            children = children.filter { FileName($0.path.name) == name }
        }
        var content: [XMLElement] = []
        if !call.isSet("recursive"), children.count > configuration.pageThreshold {
            content.append(pagination(children, page: page))
            children = Array(children.dropFirst((page - 1) * configuration.pageSize).prefix(configuration.pageSize))
        }
        content += elements(children, depth: 1, limits: &limits, options, call)
        return .xml(XMLElement("tree", attributes, content).xml)
    }

    private func pagination(_ entries: [NodeElement], page: Int) -> XMLElement {
        let total = (entries.count + configuration.pageSize - 1) / configuration.pageSize
        return XMLElement(
            "pagination",
            [
                ("count", String(entries.count)), ("total", String(total)), ("current", String(page)),
                ("overflowMessage", "\(page)/\(total)"), ("icon", "folder.png"),
                ("dirsCount", String(entries.count { $0.node.isFolder })),
            ])
    }

    /// The elements with their children, down to the requested depth.
    private func elements(
        _ entries: [NodeElement], depth: Int, limits: inout Limits, _ options: Options, _ call: Call
    ) -> [XMLElement] {
        var result: [XMLElement] = []
        for entry in entries {
            guard limits.nodes > 0 else { break }
            limits.nodes -= 1
            var attributes = entry.attributes
            var children: [XMLElement] = []
            if let inside = entry.node.children, call.isSet("recursive") {
                if depth < limits.depth && limits.nodes > 0 {
                    let below = self.entries(of: entry.node, at: entry.path, options, call)
                    children = elements(below, depth: depth + 1, limits: &limits, options, call)
                } else {
                    attributes.append(("ajxp_has_children", String(!inside.isEmpty)))
                }
            }
            result.append(XMLElement("tree", attributes, children))
        }
        return result
    }

    func element(_ path: TreePath, _ node: Node, _ call: Call, isFull: Bool = true) -> NodeElement {
        NodeElement(
            path: path, node: node, mode: mode, now: now,
            isBookmarked: bookmarks[call.treeKey]?[call.user.id]?.contains { $0.path == path } ?? false,
            isReadOnly: !call.rights.contains(.write), isFull: isFull, user: call.user.id,
            plugins: configuration.plugins)
    }

    /// Folders, archives, files, and the recycle bin last.
    private func entries(of folder: Node, at path: TreePath, _ options: Options, _ call: Call) -> [NodeElement] {
        let all = (folder.children ?? folder.archived ?? [:]).map {
            element(path / $0.key.text, $0.value, call, isFull: options.isFull)
        }
        let chosen = all.filter { options.has($0.node.isFolder ? "d" : $0.isArchive ? "z" : "f") }
        func rank(_ entry: NodeElement) -> Int {
            entry.path == .recycleBin ? 3 : entry.node.isFolder ? 0 : entry.isArchive ? 1 : 2
        }
        let isDescending = call["order_direction"] == "desc"
        return chosen.sorted { first, second in
            guard rank(first) == rank(second) else { return rank(first) < rank(second) }
            let (lower, higher) = isDescending ? (second, first) : (first, second)
            switch call["order_column"] {
            case "filesize" where lower.node.size != higher.node.size: return lower.node.size < higher.node.size
            case "ajxp_modiftime" where lower.node.modified != higher.node.modified:
                return lower.node.modified < higher.node.modified
            case _: return FileName(lower.path.name) < FileName(higher.path.name)
            }
        }
    }
}
