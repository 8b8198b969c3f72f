import Foundation

/// What was in a workspace when it was listed, with the changes since: what a new listing is compared with.
///
/// Paths are compared as text is, so that it does not matter how letters with marks are composed.
package struct NodeIndex: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var isLeaf: Bool
        package var size: Int64
        /// Seconds since 1970.
        package var mTime: Int64?
        /// Of a folder: that the server has told of it, but not of what is in it.
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
        /// It was known already.
        case none
    }

    package private(set) var entries: [String: Entry] = [:]

    package init(_ entries: [String: Entry] = [:]) {
        self.entries = entries
    }

    package var count: Int { entries.count }

    package subscript(path: String) -> Entry? { entries[path] }

    // MARK: Changes

    package mutating func set(_ entry: Entry, at path: String) -> Effect {
        defer { entries[path] = entry }
        guard let old = entries[path] else { return .new }
        return old.isSame(as: entry) ? .none : .changed
    }

    /// - Returns: Whether it was there, as far as is known.
    package mutating func remove(_ path: String) -> Bool {
        guard let entry = entries.removeValue(forKey: path) else { return isBelowUnlisted(path) }
        if !entry.isLeaf { for inside in paths(below: path) { entries[inside] = nil } }
        return true
    }

    /// Takes along what is in it.
    ///
    /// - Returns: False if that has happened already.
    package mutating func move(_ path: String, to target: String, as entry: Entry) -> Bool {
        guard let old = entries.removeValue(forKey: path) else {
            let isDone = entries[target]?.isSame(as: entry) == true && !isBelowUnlisted(path)
            entries[target] = entry
            return !isDone
        }
        if !old.isLeaf {
            for inside in paths(below: path) {
                entries[target + inside.dropFirst(path.count)] = entries.removeValue(forKey: inside)
            }
        }
        var entry = entry
        entry.isUnlisted = old.isUnlisted
        entries[target] = entry
        return true
    }

    /// What is in the folder is not known, but may be there.
    package mutating func couldNotList(_ folder: String) {
        entries[folder]?.isUnlisted = true
    }

    /// Takes over what an older index knows of folders that could not be listed for this one.
    package mutating func fill(from old: NodeIndex) {
        let folders = entries.filter { $0.value.isUnlisted }.keys.map { $0 + "/" }
        guard !folders.isEmpty else { return }
        for (path, entry) in old.entries where entries[path] == nil {
            if folders.contains(where: { path.hasPrefix($0) }) { entries[path] = entry }
        }
    }

    private func paths(below folder: String) -> [String] {
        let start = folder + "/"
        return entries.keys.filter { $0.hasPrefix(start) }
    }

    private func isBelowUnlisted(_ path: String) -> Bool {
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash > folder.startIndex {
            folder = folder[..<slash]
            if entries[String(folder)]?.isUnlisted == true { return true }
        }
        return false
    }

    // MARK: Comparison

    package enum Difference: Hashable, Sendable {
        case created(String, Entry)
        case updated(String, Entry)
        case deleted(String, Entry)

        var path: String {
            switch self {
            case .created(let path, _), .updated(let path, _), .deleted(let path, _): path
            }
        }
    }

    /// Whether nothing is different at this path.
    func agrees(with other: NodeIndex, at path: String) -> Bool {
        switch (entries[path], other.entries[path]) {
        case (nil, nil): true
        case (let mine?, let others?): mine.isSame(as: others)
        case (nil, _?), (_?, nil): false
        }
    }

    /// What must have happened for `new` to come of this: what was deleted, of folders without what was in them, then what
    /// is new or changed, by path.
    package func differences(to new: NodeIndex) -> [Difference] {
        var gone: [String] = []
        for path in entries.keys.sorted() where !isSameKind(path, new) {
            // A folder comes before what is in it, with others perhaps between them: `/a`, `/a b`, `/a/c`.
            if !Self.folders(of: path).contains(where: { entries[$0] != nil && !isSameKind($0, new) }) {
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

    private func isSameKind(_ path: String, _ new: NodeIndex) -> Bool {
        new.entries[path].map { $0.isLeaf == entries[path]?.isLeaf } ?? false
    }

    static func folders(of path: String) -> [String] {
        path.indices.dropFirst().filter { path[$0] == "/" }.map { String(path[..<$0]) }
    }
}

extension NodeIndex.Entry {
    /// Folders change their size and time with what is in them. What is not told is not different.
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
    /// Everything in a listing but the folder itself and the bin's own entry.
    ///
    /// - Parameter includesBin: Whether what is in the bin counts.
    /// - Returns: Nil if it is more than `maximum`.
    package mutating func add(_ folder: NodeResponse, maximum: Int, includesBin: Bool) -> Bool {
        var waiting = folder.children ?? []
        while let node = waiting.popLast() {
            if node.isRecycleBin {
                if includesBin { waiting += node.children ?? [] }
                continue
            }
            guard count < maximum else { return false }
            entries[node.fullPath] = Entry(node)
            waiting += node.children ?? []
        }
        return true
    }
}
