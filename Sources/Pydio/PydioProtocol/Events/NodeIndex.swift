import Basics
import Foundation

/// The contents of a workspace when it was listed, with the changes since then, for comparison with a new listing.
///
/// Paths are compared by their bytes, as servers compare them: two spellings of a letter make two names.
package struct NodeIndex: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var isLeaf: Bool
        package var size: Int64
        /// The modification time in seconds since 1970.
        package var mTime: Int64?
        /// Whether this is a folder that the server has reported without its contents.
        package var isUnlisted = false

        package init(isLeaf: Bool, size: Int64 = 0, mTime: Int64? = nil) {
            self.isLeaf = isLeaf
            self.size = size
            self.mTime = mTime
        }
    }

    package enum Effect: Hashable, Sendable {
        case new
        case changed
        /// The change was already known.
        case none
    }

    package private(set) var entries: [NodePath: Entry] = [:]

    package init(_ entries: [NodePath: Entry] = [:]) {
        self.entries = entries
    }

    package var count: Int { entries.count }

    package subscript(path: String) -> Entry? { entries[NodePath(path)] }

    // MARK: Changes

    package mutating func set(_ entry: Entry, at path: String) -> Effect {
        let path = NodePath(path)
        defer { entries[path] = entry }
        guard let old = entries[path] else { return .new }
        return old.isSame(as: entry) ? .none : .changed
    }

    /// - Returns: Whether the node existed, as far as known.
    package mutating func remove(_ path: String) -> Bool {
        let path = NodePath(path)
        guard let entry = entries.removeValue(forKey: path) else { return isBelowUnlisted(path) }
        if !entry.isLeaf { for inside in paths(below: path) { entries[inside] = nil } }
        return true
    }

    /// Moves a node with its contents.
    ///
    /// - Returns: False if it was already moved.
    package mutating func move(_ path: String, to target: String, as entry: Entry) -> Bool {
        let (path, target) = (NodePath(path), NodePath(target))
        guard let old = entries.removeValue(forKey: path) else {
            let isDone = entries[target]?.isSame(as: entry) == true && !isBelowUnlisted(path)
            entries[target] = entry
            return !isDone
        }
        if !old.isLeaf {
            for inside in paths(below: path) {
                entries[inside.moved(from: path, to: target)] = entries.removeValue(forKey: inside)
            }
        }
        var entry = entry
        entry.isUnlisted = old.isUnlisted
        entries[target] = entry
        return true
    }

    /// Marks a folder whose contents are unknown.
    package mutating func couldNotList(_ folder: String) {
        entries[NodePath(folder)]?.isUnlisted = true
    }

    /// Copies the contents of folders that could not be listed from an older index.
    package mutating func fill(from old: NodeIndex) {
        let folders = entries.filter { $0.value.isUnlisted }.keys
        guard !folders.isEmpty else { return }
        for (path, entry) in old.entries where entries[path] == nil {
            if folders.contains(where: { path.isBelow($0) }) { entries[path] = entry }
        }
    }

    private func paths(below folder: NodePath) -> [NodePath] { entries.keys.filter { $0.isBelow(folder) } }

    private func isBelowUnlisted(_ path: NodePath) -> Bool {
        path.folders.contains { entries[$0]?.isUnlisted == true }
    }

    // MARK: Comparison

    package enum Difference: Hashable, Sendable {
        case created(NodePath, Entry)
        case updated(NodePath, Entry)
        case deleted(NodePath, Entry)

        var path: NodePath {
            switch self {
            case .created(let path, _), .updated(let path, _), .deleted(let path, _): path
            }
        }
    }

    /// Returns whether both indexes agree at this path.
    func agrees(with other: NodeIndex, at path: NodePath) -> Bool {
        switch (entries[path], other.entries[path]) {
        case (nil, nil): true
        case (let mine?, let others?): mine.isSame(as: others)
        case (nil, _?), (_?, nil): false
        }
    }

    /// Returns the changes that lead to `new`: first deleted nodes, without the contents of deleted folders, then new
    /// and changed nodes, by path.
    package func differences(to new: NodeIndex) -> [Difference] {
        var gone: [NodePath] = []
        for path in entries.keys.sorted() where !isSameKind(path, new) {
            // A folder comes before its contents, possibly with others in between: `/a`, `/a b`, `/a/c`.
            if !path.folders.contains(where: { entries[$0] != nil && !isSameKind($0, new) }) {
                gone.append(path)
            }
        }
        let deleted = gone.compactMap { path in entries[path].map { Difference.deleted(path, $0) } }
        let others = new.entries.sorted { $0.key < $1.key }.compactMap { path, entry -> Difference? in
            guard let old = entries[path], old.isLeaf == entry.isLeaf else { return .created(path, entry) }
            return old.isSame(as: entry) ? nil : .updated(path, entry)
        }
        return deleted + others
    }

    private func isSameKind(_ path: NodePath, _ new: NodeIndex) -> Bool {
        new.entries[path].map { $0.isLeaf == entries[path]?.isLeaf } ?? false
    }
}

/// The path of a node in a workspace, beginning with `/`; compared by its bytes.
package struct NodePath: Hashable, Comparable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Returns whether it is in the folder, directly or indirectly.
    func isBelow(_ folder: NodePath) -> Bool {
        text.utf8.count > folder.text.utf8.count && text.utf8.starts(with: folder.text.utf8)
            && text.utf8.dropFirst(folder.text.utf8.count).first == UInt8(ascii: "/")
    }

    /// - Parameter folder: A folder above it.
    func moved(from folder: NodePath, to target: NodePath) -> NodePath {
        NodePath(target.text + String(Substring(text.utf8.dropFirst(folder.text.utf8.count))))
    }

    /// All folders above it, without the root.
    var folders: [NodePath] {
        text.utf8.indices.dropFirst().filter { text.utf8[$0] == UInt8(ascii: "/") }.map {
            NodePath(String(Substring(text.utf8[..<$0])))
        }
    }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.isExactly(rhs.text) }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.text.precedesExactly(rhs.text) }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}

extension NodeIndex.Entry {
    /// Compares entries. Ignores size and time of folders, which change with their contents. Ignores missing values.
    fileprivate func isSame(as other: Self) -> Bool {
        guard isLeaf == other.isLeaf else { return false }
        guard isLeaf, let mTime, let otherTime = other.mTime else { return true }
        return size == other.size && mTime == otherTime
    }

    package init(_ node: NodeResponse) {
        self.init(
            isLeaf: node.isLeaf, size: node.size,
            mTime: node.mTime.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) })
    }
}

extension NodeIndex {
    /// Adds everything in a listing except the folder itself and the bin's own entry.
    ///
    /// - Parameter includesBin: Whether to include the contents of the bin.
    /// - Returns: False if there are more than `maximum`.
    package mutating func add(_ folder: NodeResponse, maximum: Int, includesBin: Bool) -> Bool {
        var waiting = folder.children ?? []
        while let node = waiting.popLast() {
            if node.isRecycleBin {
                if includesBin { waiting += node.children ?? [] }
                continue
            }
            guard count < maximum else { return false }
            entries[NodePath(node.fullPath)] = Entry(node)
            waiting += node.children ?? []
        }
        return true
    }
}
