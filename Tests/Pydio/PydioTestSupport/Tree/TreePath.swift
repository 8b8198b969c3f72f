import Basics

/// A name compared by its bytes, as in file systems: two spellings of a letter make two names.
struct FileName: Hashable, Comparable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
    static func < (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8) }
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// A sanitized path inside a workspace, which never leads out of it.
struct TreePath: Hashable, Sendable {
    var pieces: [String]

    init(pieces: [String]) { self.pieces = pieces }

    init(_ text: String) {
        pieces = text.pathSegments.filter { $0 != "." && $0 != ".." }
    }

    static let root = TreePath(pieces: [])
    static let recycleBin = TreePath(pieces: ["recycle_bin"])

    /// `/a/b`; empty for the root.
    var text: String { pieces.map { "/" + $0 }.joined() }
    /// Like ``text``, but `/` for the root.
    var shown: String { pieces.isEmpty ? "/" : text }
    var name: String { pieces.last ?? "" }
    var parent: TreePath { TreePath(pieces: pieces.dropLast()) }
    var isInBin: Bool { pieces.count > 1 && pieces.first == Self.recycleBin.name }

    /// A name as servers silently clean it up.
    static func cleaned(_ name: String) -> String {
        let inner = name.unicodeScalars.drop { isTrimmed($0) }.reversed().drop { isTrimmed($0) }.reversed()
        var kept = String.UnicodeScalarView()
        kept.append(contentsOf: inner.filter { !"\"/|?\\\0".unicodeScalars.contains($0) })
        return String(kept)
    }

    private static func isTrimmed(_ scalar: Unicode.Scalar) -> Bool { " \t\n\r\0\u{B}".unicodeScalars.contains(scalar) }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.pieces.map(FileName.init) == rhs.pieces.map(FileName.init) }
    func hash(into hasher: inout Hasher) { hasher.combine(pieces) }

    static func / (path: TreePath, name: String) -> TreePath { TreePath(pieces: path.pieces + [name]) }

    func isAtOrBelow(_ other: TreePath) -> Bool {
        pieces.lazy.map(FileName.init).starts(with: other.pieces.lazy.map(FileName.init))
    }

    /// The path relative to the folder `other`.
    func relative(to other: TreePath) -> TreePath { TreePath(pieces: Array(pieces.dropFirst(other.pieces.count))) }
}
