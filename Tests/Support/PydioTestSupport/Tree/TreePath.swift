/// A path inside a workspace, made harmless: nothing leads out of it.
struct TreePath: Hashable, Sendable {
    var pieces: [String]

    init(pieces: [String]) { self.pieces = pieces }

    init(_ text: String) {
        pieces = text.split(separator: "/").map(String.init).filter { $0 != "." && $0 != ".." }
    }

    static let root = TreePath(pieces: [])
    static let recycleBin = TreePath(pieces: ["recycle_bin"])

    /// `/a/b`; empty for the root.
    var text: String { pieces.map { "/" + $0 }.joined() }
    /// The same, but `/` for the root.
    var shown: String { pieces.isEmpty ? "/" : text }
    var name: String { pieces.last ?? "" }
    var parent: TreePath { TreePath(pieces: pieces.dropLast()) }
    var isInBin: Bool { pieces.count > 1 && pieces.first == Self.recycleBin.name }

    static func / (path: TreePath, name: String) -> TreePath { TreePath(pieces: path.pieces + [name]) }

    func isAtOrBelow(_ other: TreePath) -> Bool { pieces.starts(with: other.pieces) }

    /// Seen from the folder `other`.
    func relative(to other: TreePath) -> TreePath { TreePath(pieces: Array(pieces.dropFirst(other.pieces.count))) }
}
