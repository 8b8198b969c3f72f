/// The changes feed.
extension ServerState {
    mutating func changesAnswer(_ call: Call) -> FakePydioAnswer {
        guard configuration.hasChanges else { return .empty }
        let seq = Int(call["seq_id"] ?? "") ?? 0
        if seq > changes.last { return feed([], last: mode == .v8 ? 1 : changes.last, call) }
        var rows = changes.rows(in: call.treeKey, after: seq)
        let last = rows.map(\.seq).max() ?? changes.last
        let filter = call["filter"].map { TreePath($0) } ?? .root
        rows = rows.map { row in
            var row = row
            row.source = Self.visible(row.source, below: filter)
            row.target = Self.visible(row.target, below: filter)
            return row
        }
        if mode == .v5_2 || call.isSet("flatten") { rows = Self.flattened(rows) }
        rows = rows.filter { $0.kind != nil }.sorted { ($0.node, $0.seq) < ($1.node, $1.seq) }
        return feed(rows, last: last, call)
    }

    private static func visible(_ path: TreePath?, below filter: TreePath) -> TreePath? {
        guard let path, path.isAtOrBelow(filter), path != filter else { return nil }
        return path.relative(to: filter)
    }

    /// Merges the rows of each node into one with the result.
    private static func flattened(_ rows: [ChangeLog.Row]) -> [ChangeLog.Row] {
        var result: [Int: ChangeLog.Row] = [:]
        for row in rows {
            guard var former = result[row.node] else {
                result[row.node] = row
                continue
            }
            former.seq = row.seq
            former.target = row.target
            result[row.node] = former
        }
        return Array(result.values)
    }

    private func feed(_ rows: [ChangeLog.Row], last: Int, _ call: Call) -> FakePydioAnswer {
        var nodes: [Int: (TreePath, Node)] = [:]
        if !rows.isEmpty {
            tree(call.treeKey).root.forEach(at: .root) { if !$0.isInBin { nodes[$1.id] = ($0, $1) } }
        }
        let filter = call["filter"].map { TreePath($0) } ?? .root
        let changes = rows.compactMap { row in row.kind.map { change(row, $0, nodes[row.node], filter, call) } }
        if call["stream"] != nil, mode == .v8 {
            return .text(
                changes.map { $0.text + "\n" }.joined() + "LAST_SEQ:\(last)", type: "application/json; charset=UTF-8")
        }
        return .text(
            JSONValue.object([("changes", .array(changes)), ("last_seq", .number(last))]).text,
            type: "application/json; charset=UTF-8")
    }

    private func number(_ value: Int) -> JSONValue {
        configuration.changesHaveStrings ? .string(String(value)) : .number(value)
    }

    private func change(
        _ row: ChangeLog.Row, _ kind: ChangeLog.Kind, _ node: (path: TreePath, node: Node)?, _ filter: TreePath,
        _ call: Call
    ) -> JSONValue {
        var current: [(String, JSONValue)] = ["bytesize", "md5", "mtime", "node_path", "repository_identifier"].map {
            ($0, .null)
        }
        if let node {
            let shown = Self.visible(node.path, below: filter)
            current = [
                ("bytesize", number(node.node.size)), ("md5", .string(node.node.content?.md5 ?? "directory")),
                ("mtime", number(node.node.modified)), ("node_path", shown.map { .string($0.text) } ?? .bool(false)),
                ("repository_identifier", .string(call.workspace.id)),
            ]
        }
        return .object([
            ("seq", number(row.seq)), ("node_id", number(row.node)), ("type", .string(kind.rawValue)),
            ("source", .string(row.source?.text ?? "NULL")), ("target", .string(row.target?.text ?? "NULL")),
            ("node", .object(current)),
        ])
    }
}
