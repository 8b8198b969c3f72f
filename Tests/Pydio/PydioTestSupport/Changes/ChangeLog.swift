/// The rows of the changes feed; all workspaces of the server share their numbers.
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
        /// `nil` for a new node.
        var source: TreePath?
        /// `nil` for a deleted node.
        var target: TreePath?

        /// `nil` if nothing has happened.
        var kind: Kind? {
            guard let source else { return target == nil ? nil : .create }
            guard let target else { return .delete }
            return source == target ? .content : .path
        }
    }

    private var rows: [TreeKey: [Row]] = [:]
    private(set) var last = 0
    /// Faults of new rows.
    var faults: FakePydioServer.LogFaults?
    /// Delayed rows.
    private var late: [(key: TreeKey, row: Row, delay: Int)] = []

    private static let limit = 100_000

    func rows(in tree: TreeKey, after seq: Int) -> [Row] {
        (rows[tree] ?? []).filter { $0.seq > seq }.sorted { $0.seq < $1.seq }
    }

    /// Starts over as after a new installation: numbers begin with 1 again.
    mutating func reset() {
        rows = [:]
        late = []
        last = 0
    }

    /// - Parameter tree: The tree after the event.
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

    /// Adds a row. For the feed, nodes in the recycle bin do not exist.
    private mutating func add(_ node: Int, _ source: TreePath?, _ target: TreePath?, _ key: TreeKey) {
        for index in late.indices { late[index].delay -= 1 }
        while let index = late.firstIndex(where: { $0.delay <= 0 }) {
            let (key, row, _) = late.remove(at: index)
            append(row, key)
        }
        var row = Row(
            seq: 0, node: node, source: source?.isInBin == true ? nil : source,
            target: target?.isInBin == true ? nil : target)
        guard row.kind != nil else { return }
        switch faults?.next() ?? .told {
        case .told: append(row, key)
        case .missing: break
        case .doubled:
            append(row, key)
            append(row, key)
        case .late(let delay): late.append((key, row, delay))
        case .overtaken(let delay):
            last += 1
            row.seq = last
            late.append((key, row, delay))
        }
    }

    /// Delivers all pending rows now.
    mutating func endLateness() {
        for (key, row, _) in late { append(row, key) }
        late = []
    }

    /// Gives the row the next number, unless it has one.
    private mutating func append(_ row: Row, _ key: TreeKey) {
        var row = row
        if row.seq == 0 {
            last += 1
            row.seq = last
        }
        rows[key, default: []].append(row)
        if rows[key]?.count ?? 0 > Self.limit { rows[key]?.removeFirst() }
    }
}
