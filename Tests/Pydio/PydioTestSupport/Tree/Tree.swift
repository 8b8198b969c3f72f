/// The files of a workspace.
struct Tree: Sendable {
    private(set) var root: Node
    let hasRecycleBin: Bool

    init(hasRecycleBin: Bool, now: Int) {
        root = .folder(id: 0, now: now)
        self.hasRecycleBin = hasRecycleBin
        if hasRecycleBin { root.children?[FileName(TreePath.recycleBin.name)] = .folder(id: 0, now: now) }
    }

    subscript(path: TreePath) -> Node? {
        var node = root
        for piece in path.pieces {
            guard let child = (node.children ?? node.archived)?[FileName(piece)] else { return nil }
            node = child
        }
        return node
    }

    func isFolder(_ path: TreePath) -> Bool { self[path]?.isFolder ?? false }

    /// Whether the path leads into an archive.
    func isArchived(_ path: TreePath) -> Bool {
        path.pieces.indices.dropFirst().contains { self[TreePath(pieces: Array(path.pieces[..<$0]))]?.archived != nil }
    }

    /// Puts a node into an existing folder, replacing any node with its name.
    mutating func put(_ node: Node, at path: TreePath, now: Int) {
        change(path.parent) { folder in
            guard folder.children != nil else { return }
            folder.children?[FileName(path.name)] = node
            folder.modified = now
        }
    }

    @discardableResult
    mutating func remove(_ path: TreePath, now: Int) -> Node? {
        var removed: Node?
        guard !path.pieces.isEmpty else { return nil }
        change(path.parent) { folder in
            removed = folder.children?.removeValue(forKey: FileName(path.name))
            folder.modified = now
        }
        return removed
    }

    mutating func change(_ path: TreePath, _ body: (inout Node) -> Void) {
        guard self[path] != nil else { return }
        Self.change(&root, path.pieces[...], body)
    }

    private static func change(_ node: inout Node, _ pieces: ArraySlice<String>, _ body: (inout Node) -> Void) {
        guard let piece = pieces.first else { return body(&node) }
        guard var child = node.children?.removeValue(forKey: FileName(piece)) else { return }
        change(&child, pieces.dropFirst(), body)
        node.children?[FileName(piece)] = child
    }

    /// `b.txt`, or if it is taken `b-1.txt` and so on.
    func freePath(_ path: TreePath) -> TreePath {
        guard self[path] != nil else { return path }
        let name = path.name
        let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 } ?? name.endIndex
        var number = 1
        while self[path.parent / "\(name[..<dot])-\(number)\(name[dot...])"] != nil { number += 1 }
        return path.parent / "\(name[..<dot])-\(number)\(name[dot...])"
    }
}
