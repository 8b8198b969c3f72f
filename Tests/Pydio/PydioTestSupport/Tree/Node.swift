/// A file or a folder.
struct Node: Sendable {
    /// Identifies the node in the changes feed.
    var id: Int
    /// Unix time.
    var modified: Int
    /// By name; `nil` for a file.
    var children: [FileName: Node]?
    var content: FileContent?
    /// Octal digits.
    var mode: String
    /// The former place of a deleted node.
    var origin: TreePath?
    /// The content of a zip archive made by the server, by name.
    var archived: [FileName: Node]?
    /// Plugins' notes about the node.
    var notes = NodeNotes()

    static func folder(id: Int, now: Int) -> Node { Node(id: id, modified: now, children: [:], mode: "0755") }

    static func file(_ content: FileContent, id: Int, now: Int) -> Node {
        Node(id: id, modified: now, content: content, mode: "0600")
    }

    var isFolder: Bool { children != nil }
    var size: Int { content?.size ?? 0 }
    /// The size of all files below.
    var totalSize: Int { children.map { $0.values.reduce(0) { $0 + $1.totalSize } } ?? size }

    /// Calls `body` for the node and for all below.
    func forEach(at path: TreePath, _ body: (TreePath, Node) -> Void) {
        body(path, self)
        for (name, child) in (children ?? [:]).sorted(by: { $0.key < $1.key }) {
            child.forEach(at: path / name.text, body)
        }
    }

    /// A copy with new IDs and times.
    func copied(now: Int, id makeID: () -> Int) -> Node {
        var copy = self
        copy.id = makeID()
        copy.modified = now
        copy.origin = nil
        copy.children = children?.mapValues { $0.copied(now: now, id: makeID) }
        return copy
    }
}
