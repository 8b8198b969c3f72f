import Foundation

/// What is in the folder on the server, as it was listed.
package struct SyncRemoteTree: Sendable, Hashable {
    package var nodes: [SyncPath: SyncNode]
    /// Folders that could not be listed: nothing is known of what is in them.
    package var unlisted: Set<SyncPath> = []

    package init(_ nodes: [SyncPath: SyncNode] = [:]) {
        self.nodes = nodes
    }

    /// Takes out what is not in a folder any more.
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

/// What a log of changes says about a tree that was listed before (section 10).
package struct SyncFeedChanges: Sendable {
    /// Folders to be listed again, those above first.
    package private(set) var folders: [SyncPath] = []
    /// Paths where something may be another thing now: nothing is known any more of what is in it.
    private var renewed: Set<SyncPath> = []
    /// What files are by now, with hashes.
    package private(set) var versions: [SyncPath: SyncVersion] = [:]
    /// Whether the folder itself was moved or deleted: all is to be listed.
    package private(set) var isOfWhole = false

    /// - Parameters:
    ///   - folder: The synced one in the workspace.
    ///   - doubted: Where the server was found to hold something that the log has not told.
    ///   - known: What was listed before. The log may never have told of a folder that it tells of something in: the
    ///     nearest folder above that is known is then listed, too.
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

    /// What is left of a tree that was listed before these changes.
    package func remains(of tree: [SyncPath: SyncNode]) -> [SyncPath: SyncNode] {
        let listed = Set(folders)
        return tree.filter { path, _ in
            !listed.contains(path.parent) && !isRenewed(path)
        }
    }

    /// Whether nothing is known any more of what is there.
    package func isRenewed(_ path: SyncPath) -> Bool {
        var path = path
        while !path.isRoot {
            if renewed.contains(path) { return true }
            path = path.parent
        }
        return false
    }

    /// A file of a new listing with the hash that is known of it: from the log, or from before if it is the same still.
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
