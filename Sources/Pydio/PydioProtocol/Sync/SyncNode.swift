/// What tells one state of a file from another on one side.
package struct SyncVersion: Hashable, Sendable {
    /// Bytes.
    package var size: Int64
    /// Since 1970: nanoseconds on this side, seconds on the server. Times of the two sides are never compared.
    package var modified: Int64?
    /// The number of the file in its file system; 0 on the server.
    package var number: UInt64
    /// Of the content, in lower-case hexadecimal digits; nil unless somebody has looked.
    package var md5: String?

    package init(size: Int64, modified: Int64?, number: UInt64 = 0, md5: String? = nil) {
        (self.size, self.modified, self.number, self.md5) = (size, modified, number, md5)
    }

    /// Whether nothing but the content could tell them apart.
    package func hasSameStamp(as other: SyncVersion) -> Bool {
        size == other.size && modified == other.modified && number == other.number
    }

    /// Whether it is what was recorded, when its content had this hash. A server may tell an outdated hash: told again,
    /// it means no change.
    package func isSame(as recorded: SyncVersion, md5 recordedHash: String) -> Bool {
        if let md5, md5 == recordedHash { return true }
        return hasSameStamp(as: recorded) && (md5 == nil || md5 == recorded.md5)
    }
}

/// What is at a path on one side.
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

    /// Whether it is the same, as far as a look from outside tells.
    package func hasSameStamp(as other: SyncNode) -> Bool {
        switch (self, other) {
        case (.folder, .folder): true
        case (.file(let mine), .file(let theirs)): mine.hasSameStamp(as: theirs)
        case (.folder, .file), (.file, .folder): false
        }
    }
}

/// What was the same on both sides after the last step for a path.
package enum SyncRecord: Hashable, Sendable {
    case folder
    case file(local: SyncVersion, remote: SyncVersion, md5: String)

    /// The files on the server.
    package var remote: SyncNode {
        switch self {
        case .folder: .folder
        case .file(_, let remote, _): .file(remote)
        }
    }
}
