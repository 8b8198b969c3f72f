import Foundation

/// The contents of the folder on the server, as listed.
package struct SyncRemoteTree: Sendable, Hashable {
    package var nodes: [SyncPath: SyncNode]
    /// The folders that could not be listed: their contents are unknown.
    package var unlisted: Set<SyncPath> = []

    package init(_ nodes: [SyncPath: SyncNode] = [:]) {
        self.nodes = nodes
    }

    /// Removes nodes that are no longer in a folder.
    package mutating func removeOrphans() {
        var sound: [SyncPath: Bool] = [.root: true]
        func isSound(_ folder: SyncPath) -> Bool {
            if let known = sound[folder] { return known }
            let answer = nodes[folder] == .folder && isSound(folder.parent)
            sound[folder] = answer
            return answer
        }
        nodes = nodes.filter { isSound($0.key.parent) }
    }
}

/// The changes in a change log to a tree that was listed before (section 10).
package struct SyncFeedChanges: Sendable {
    /// The folders to list again, parents first.
    package private(set) var folders: [SyncPath] = []
    /// The paths whose node may be a different one now: its contents are no longer known.
    private var renewed: Set<SyncPath> = []
    /// The current versions of files, with hashes.
    package private(set) var versions: [SyncPath: SyncVersion] = [:]
    /// Whether the folder itself was moved or deleted, so that everything must be listed.
    package private(set) var isOfWhole = false

    /// - Parameters:
    ///   - folder: The synced folder in the workspace.
    ///   - doubted: The paths where the server's contents didn't match the log.
    ///   - known: The nodes listed before. The log may report a node whose folder it never reported: the nearest known
    ///     parent is then also listed.
    package init(
        _ changes: [PydioLoggedChange], below folder: String, doubting doubted: Set<SyncPath> = [],
        known: [SyncPath: SyncNode] = [:]
    ) {
        var folders: Set<SyncPath> = []
        for change in changes {
            let current = change.node?.path
            for path in [change.source, change.target, current].compactMap(\.self) {
                guard let place = SyncPath(remote: path, below: folder) else {
                    if change.kind != .content, folder.utf8.starts(with: (path + "/").utf8) { isOfWhole = true }
                    continue
                }
                guard !place.isRoot else {
                    if change.kind != .content { isOfWhole = true }
                    continue
                }
                folders.insert(place.parent)
                if change.kind != .content { renewed.insert(place) }
            }
            if let current, let place = SyncPath(remote: current, below: folder), let node = change.node,
                !node.isFolder, let size = node.size, let md5 = node.md5, !md5.isEmpty
            {
                let modified = node.mTime.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
                versions[place] = SyncVersion(size: size, modified: modified, md5: md5.lowercased())
            }
        }
        for path in doubted {
            guard !path.isRoot else {
                isOfWhole = true
                continue
            }
            folders.insert(path.parent)
            renewed.insert(path)
        }
        for folder in folders {
            var above = folder
            while !above.isRoot, known[above] != .folder { above = above.parent }
            folders.insert(above)
        }
        self.folders = folders.sorted()
    }

    /// Returns the part of an earlier tree that is still valid after these changes.
    package func remains(of tree: [SyncPath: SyncNode]) -> [SyncPath: SyncNode] {
        let listed = Set(folders)
        return tree.filter { path, _ in
            !listed.contains(path.parent) && !isRenewed(path)
        }
    }

    /// Returns whether the node at a path is no longer known.
    package func isRenewed(_ path: SyncPath) -> Bool {
        var path = path
        while !path.isRoot {
            if renewed.contains(path) { return true }
            path = path.parent
        }
        return false
    }

    /// Returns a file's version in a new listing with its known hash: from the log, or from before if it is unchanged.
    package func hashed(_ version: SyncVersion, at path: SyncPath, before: SyncNode?) -> SyncVersion {
        var version = version
        if let told = versions[path] {
            if told.hasSameStamp(as: version) { version.md5 = told.md5 }
        } else if case .file(let old) = before, old.hasSameStamp(as: version) {
            version.md5 = old.md5
        }
        return version
    }
}
