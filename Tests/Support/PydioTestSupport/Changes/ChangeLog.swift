/// What the changes feed is made of: rows with numbers that all workspaces of the server share.
struct ChangeLog: Sendable {
    enum Kind: String, Codable, Sendable {
        case create
        case delete
        /// Renamed or moved.
        case path
        case content
    }

    struct Row: Sendable {
        var seq: Int
        let node: Int
        /// Nil: there was none before.
        var source: TreePath?
        /// Nil: there is none any more.
        var target: TreePath?

        /// Nil: nothing has happened.
        var kind: Kind? {
            guard let source else { return target == nil ? nil : .create }
            guard let target else { return .delete }
            return source == target ? .content : .path
        }
    }

    private var rows: [TreeKey: [Row]] = [:]
    private(set) var last = 0

    private static let limit = 100_000

    func rows(in tree: TreeKey, after seq: Int) -> [Row] { (rows[tree] ?? []).filter { $0.seq > seq } }

    /// As after a new installation: numbers begin with 1 again.
    mutating func reset() {
        rows = [:]
        last = 0
    }

    /// - Parameter tree: As it is after the event.
    mutating func record(_ event: TreeEvent, in key: TreeKey, _ tree: Tree) {
        switch event {
        case .created(let path):
            tree[path]?.forEach(at: path) { add($1.id, nil, $0, key) }
        case .updated(let path):
            if let node = tree[path] { add(node.id, path, path, key) }
        case .moved(let from, let to):
            tree[to]?.forEach(at: to) { path, node in
                let before = TreePath(pieces: from.pieces + path.relative(to: to).pieces)
                add(node.id, before, path, key)
            }
        case .deleted(let path, let node): node.forEach(at: path) { add($1.id, $0, nil, key) }
        }
    }

    /// What lies in the recycle bin does not exist for the feed.
    private mutating func add(_ node: Int, _ source: TreePath?, _ target: TreePath?, _ key: TreeKey) {
        let row = Row(
            seq: last + 1, node: node, source: source?.isInBin == true ? nil : source,
            target: target?.isInBin == true ? nil : target)
        guard row.kind != nil else { return }
        last += 1
        rows[key, default: []].append(row)
        if rows[key]?.count ?? 0 > Self.limit { rows[key]?.removeFirst() }
    }
}
