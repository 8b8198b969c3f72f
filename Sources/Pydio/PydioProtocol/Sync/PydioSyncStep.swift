/// Which way changes are carried.
public enum PydioSyncDirection: String, Sendable, Hashable, CaseIterable {
    case both
    /// From the local folder to the server. What has changed on the server stays as it is there.
    case up
    /// From the server to the local folder. What has changed in the local folder stays as it is there.
    case down
}

/// One of the two folders that are synced.
public enum PydioSyncSide: String, Sendable, Hashable {
    case local
    case remote
}

/// Something to be done for one path.
public struct PydioSyncStep: Sendable, Hashable {
    /// What is done.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case makeLocalFolder
        case makeRemoteFolder
        case upload
        case download
        /// A file, or a folder with everything in it.
        case deleteLocal
        /// The same on the server, which has a recycle bin for most workspaces.
        case deleteRemote
        /// Both sides have a file that is new or has changed. If their contents differ, both are kept.
        case compare
        /// Both sides have changed: the local file or folder gets the name ``PydioSyncStep/newPath``, so that the
        /// server's can take its place.
        case keepBoth
    }

    /// What is done.
    public let kind: Kind
    /// Where, below both folders; without a slash at its beginning.
    public let path: String
    /// The new name of what is kept beside the server's; of ``Kind-swift.enum/keepBoth`` only.
    public let newPath: String?
    /// Bytes to be transferred, as far as is known before; nil if it is no transfer.
    public let size: Int64?

    /// What was found at the path, and is expected there still.
    package let local: SyncNode?
    package let remote: SyncNode?
    /// What is deleted with it, and itself.
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

    /// Hashes kind and path alone.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(syncPath)
    }

    /// The side that it changes; a comparison changes none by itself.
    package var changes: PydioSyncSide? {
        switch kind {
        case .makeLocalFolder, .download, .deleteLocal, .keepBoth: .local
        case .makeRemoteFolder, .upload, .deleteRemote: .remote
        case .compare: nil
        }
    }

    /// Names that steps free come before those that take them.
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

/// A file or folder that is left out, with everything in it. The others are synced.
public struct PydioSyncRefusal: Sendable, Hashable {
    /// Below both folders; without a slash at its beginning.
    public let path: String
    /// Why, and what helps.
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
