import Foundation

/// The content of files, and information about it.
extension ServerState {
    mutating func contentAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer {
        switch action {
        case .stat, .statHash: statAnswer(call, hasHash: action == .statHash)
        case .getContent: getContent(call)
        case .putContent: putContent(call)
        case .applyCheckHook: checkHook(call)
        case _: .empty
        }
    }

    private func statAnswer(_ call: Call, hasHash: Bool) -> FakePydioAnswer {
        let paths = call.selection
        let tree = tree(call.treeKey)
        func stat(_ path: TreePath) -> JSONValue {
            tree[path].map { Self.stat(of: $0, hasHash: hasHash) } ?? .object([])
        }
        guard paths.count > 1 else { return .json(paths.first.map(stat) ?? .object([])) }
        return .json(.object(paths.map { ($0.text, stat($0)) }))
    }

    /// PHP's `stat`: every value twice, by number and by name.
    private static func stat(of node: Node, hasHash: Bool) -> JSONValue {
        let mode = (node.isFolder ? 0o040000 : 0o100000) | (Int(node.mode, radix: 8) ?? 0)
        let values = [
            ("dev", 2049), ("ino", node.id), ("mode", mode), ("nlink", 1), ("uid", 33), ("gid", 33), ("rdev", 0),
            ("size", node.isFolder ? 4096 : node.size), ("atime", node.modified), ("mtime", node.modified),
            ("ctime", node.modified), ("blksize", 4096), ("blocks", (node.size + 511) / 512),
        ]
        var members = values.enumerated().map { ("\($0.offset)", JSONValue.number($0.element.1)) }
        members += values.map { ($0.0, JSONValue.number($0.1)) }
        if hasHash { members.append(("hash", .string(node.content?.md5 ?? "directory"))) }
        return .object(members)
    }

    private func getContent(_ call: Call) -> FakePydioAnswer {
        guard let path = call.selection.first, let content = tree(call.treeKey)[path]?.content else {
            return .error("Cannot find file!")
        }
        return FakePydioAnswer(type: "text/plain; charset=UTF-8", content.body)
    }

    private mutating func putContent(_ call: Call) -> FakePydioAnswer {
        guard call.rights.contains(.write) else { return .text("1001") }
        guard let path = call.selection.first, let node = tree(call.treeKey)[path], !node.isFolder else {
            return .text("1002")
        }
        let text = call["content"] ?? ""
        let bytes =
            call["encode"] == "base64"
            ? Array(Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data())
            : Array(text.replacing("&lt;", with: "<").utf8)
        guard let content = try? FileContent(bytes) else { return .text("1001") }
        put(.file(content, id: node.id, now: now), at: path, call)
        publish([.updated(path)], call)
        return .text("The file has been saved successfully.")
    }

    /// The quota check before an upload: `hook_arg` is the number of bytes.
    private func checkHook(_ call: Call) -> FakePydioAnswer {
        guard !isOverQuota(adding: Int(call["hook_arg"] ?? "") ?? 0, call) else {
            return .error("You have exceeded your allowed quota")
        }
        return .tree("")
    }

    func isOverQuota(adding count: Int, _ call: Call) -> Bool {
        guard let quota = call.workspace.quota else { return false }
        return tree(call.treeKey).root.totalSize + count > quota
    }
}
