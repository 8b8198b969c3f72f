import Basics

/// The path of a file or folder below the two synced folders: names separated by slashes, empty for the two folders
/// themselves.
///
/// Paths are compared by their bytes, as file systems compare them: two spellings of a letter make two names.
package struct SyncPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let text: String

    package static let root = SyncPath("")

    /// - Parameter text: The path, without leading and trailing slashes.
    package init(_ text: String) {
        self.text = text
    }

    /// - Parameters:
    ///   - path: A path in a workspace.
    ///   - folder: The synced folder, without a trailing slash unless it is `/`.
    /// - Returns: `nil` if the path is neither the folder nor in it.
    package init?(remote path: String, below folder: String) {
        var bytes = path.utf8[...]
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        let prefix = folder == "/" ? "" : folder
        guard bytes.starts(with: prefix.utf8) else { return nil }
        let rest = bytes.dropFirst(prefix.utf8.count)
        guard !rest.isEmpty else {
            self = .root
            return
        }
        guard rest.first == UInt8(ascii: "/") else { return nil }
        text = String(Substring(rest.dropFirst()))
    }

    package var isRoot: Bool { text.isEmpty }

    /// The last part.
    package var name: String {
        String(Substring(text.utf8[(lastSlash.map { text.utf8.index(after: $0) } ?? text.startIndex)...]))
    }

    /// The parent folder; the root is its own parent.
    package var parent: SyncPath { SyncPath(lastSlash.map { String(Substring(text.utf8[..<$0])) } ?? "") }

    package func appending(_ name: String) -> SyncPath { SyncPath(isRoot ? name : "\(text)/\(name)") }

    /// Returns whether it is this folder or in it.
    package func isWithin(_ folder: SyncPath) -> Bool {
        if folder.isRoot || self == folder { return true }
        let (mine, other) = (text.utf8, folder.text.utf8)
        guard mine.count > other.count, mine.starts(with: other) else { return false }
        return mine[mine.index(mine.startIndex, offsetBy: other.count)] == UInt8(ascii: "/")
    }

    /// Returns the path in the workspace.
    package func remote(below folder: String) -> String {
        if isRoot { return folder }
        return folder == "/" ? "/" + text : "\(folder)/\(text)"
    }

    package var description: String { isRoot ? "/" : text }

    private var lastSlash: String.Index? { text.utf8.lastIndex(of: UInt8(ascii: "/")) }

    package static func == (lhs: SyncPath, rhs: SyncPath) -> Bool {
        lhs.text.isExactly(rhs.text)
    }

    /// A folder comes before everything in it.
    package static func < (lhs: SyncPath, rhs: SyncPath) -> Bool {
        lhs.text.precedesExactly(rhs.text)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}
