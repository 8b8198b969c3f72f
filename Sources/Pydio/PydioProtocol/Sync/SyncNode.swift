/// The version of a file on one side.
package struct SyncVersion: Hashable, Sendable {
    /// The size in bytes.
    package var size: Int64
    /// The modification time since 1970: in nanoseconds on the local side, in seconds on the server. Times of the two
    /// sides are never compared.
    package var modified: Int64?
    /// The number of the file in its file system; 0 on the server.
    package var number: UInt64
    /// The MD5 of the content, in lower-case hexadecimal digits; `nil` if unknown.
    package var md5: String?

    package init(size: Int64, modified: Int64?, number: UInt64 = 0, md5: String? = nil) {
        (self.size, self.modified, self.number, self.md5) = (size, modified, number, md5)
    }

    /// Returns whether only the content could distinguish them.
    package func hasSameStamp(as other: SyncVersion) -> Bool {
        size == other.size && modified == other.modified && number == other.number
    }

    /// Returns whether it is the recorded version, whose content had this hash. A server may send an outdated hash: if
    /// repeated, it means no change.
    package func isSame(as recorded: SyncVersion, md5 recordedHash: String) -> Bool {
        if let md5, md5 == recordedHash { return true }
        return hasSameStamp(as: recorded) && (md5 == nil || md5 == recorded.md5)
    }
}

/// The node at a path on one side.
package enum SyncNode: Hashable, Sendable {
    case folder
    case file(SyncVersion)

    package var isFolder: Bool { self == .folder }

    package var version: SyncVersion? {
        switch self {
        case .folder: nil
        case .file(let version): version
        }
    }

    /// Returns whether it is the same, as far as visible without reading the content.
    package func hasSameStamp(as other: SyncNode) -> Bool {
        switch (self, other) {
        case (.folder, .folder): true
        case (.file(let mine), .file(let theirs)): mine.hasSameStamp(as: theirs)
        case (.folder, .file), (.file, .folder): false
        }
    }
}

/// The state of both sides after the last step for a path.
package enum SyncRecord: Hashable, Sendable {
    case folder
    case file(local: SyncVersion, remote: SyncVersion, md5: String)

    /// The node on the server.
    package var remote: SyncNode {
        switch self {
        case .folder: .folder
        case .file(_, let remote, _): .file(remote)
        }
    }
}
