/// The direction in which changes are synced.
public enum PydioSyncDirection: String, Sendable, Hashable, CaseIterable {
    case both
    /// From the local folder to the server. Changes on the server stay as they are there.
    case up
    /// From the server to the local folder. Changes in the local folder stay as they are there.
    case down
}

/// One of the two synced folders.
public enum PydioSyncSide: String, Sendable, Hashable {
    case local
    case remote
}

/// A step of a sync, for one path.
public struct PydioSyncStep: Sendable, Hashable {
    /// The kind of step.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case makeLocalFolder
        case makeRemoteFolder
        case upload
        case download
        /// Delete a local file, or a folder with everything in it.
        case deleteLocal
        /// Delete a file or folder on the server, which has a recycle bin for most workspaces.
        case deleteRemote
        /// Compare a file that is new or has changed on both sides. If the contents differ, both are kept.
        case compare
        /// Keep both sides of a conflict: the local file or folder is renamed to ``PydioSyncStep/newPath``, so that the
        /// server's can replace it.
        case keepBoth
    }

    /// The kind of step.
    public let kind: Kind
    /// The path below both folders, without a leading slash.
    public let path: String
    /// The new name of the local version; for ``Kind-swift.enum/keepBoth`` only.
    public let newPath: String?
    /// The bytes to transfer, as far as known in advance; `nil` if it is not a transfer.
    public let size: Int64?

    /// The node that was found at the path, and is still expected there.
    package let local: SyncNode?
    package let remote: SyncNode?
    /// The nodes to delete, including the path itself.
    package let contents: [SyncPath: SyncNode]

    package init(
        _ kind: Kind, _ path: SyncPath, local: SyncNode?, remote: SyncNode?, contents: [SyncPath: SyncNode] = [:],
        newPath: SyncPath? = nil
    ) {
        self.kind = kind
        self.path = path.text
        self.newPath = newPath?.text
        (self.local, self.remote, self.contents) = (local, remote, contents)
        size =
            switch kind {
            case .upload: local?.version?.size
            case .download: remote?.version?.size
            case .makeLocalFolder, .makeRemoteFolder, .deleteLocal, .deleteRemote, .compare, .keepBoth: nil
            }
    }

    package var syncPath: SyncPath { SyncPath(path) }

    /// Paths are compared by their bytes.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.kind == rhs.kind && lhs.syncPath == rhs.syncPath
            && lhs.newPath.map(SyncPath.init) == rhs.newPath.map(SyncPath.init) && lhs.size == rhs.size
            && lhs.local == rhs.local && lhs.remote == rhs.remote && lhs.contents == rhs.contents
    }

    /// Hashes only the kind and path.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(syncPath)
    }

    /// The side that it changes; `nil` for a comparison, which changes none itself.
    package var changes: PydioSyncSide? {
        switch kind {
        case .makeLocalFolder, .download, .deleteLocal, .keepBoth: .local
        case .makeRemoteFolder, .upload, .deleteRemote: .remote
        case .compare: nil
        }
    }

    /// The order of steps: those that free names come before those that use them.
    fileprivate var phase: Int {
        switch kind {
        case .keepBoth: 0
        case .deleteLocal, .deleteRemote: 1
        case .makeLocalFolder, .makeRemoteFolder, .upload, .download, .compare: 2
        }
    }

    package static func isInOrder(_ first: PydioSyncStep, _ second: PydioSyncStep) -> Bool {
        (first.phase, first.syncPath) < (second.phase, second.syncPath)
    }
}

/// A file or folder that is left out, with everything in it. Other nodes are synced.
public struct PydioSyncRefusal: Sendable, Hashable {
    /// The path below both folders, without a leading slash.
    public let path: String
    /// The reason, and the remedy.
    public let message: String

    package init(_ path: SyncPath, _ message: String) {
        (self.path, self.message) = (path.text, message)
    }

    /// Paths are compared by their bytes.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        SyncPath(lhs.path) == SyncPath(rhs.path) && lhs.message == rhs.message
    }

    /// Hashes path and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(message)
    }
}
