public import Foundation

/// The changes in a workspace after a position in the server's change log.
public struct PydioChangesResponse: Sendable, Hashable {
    /// The changes, in order.
    public let changes: [PydioLoggedChange]
    /// The position to continue from.
    public let lastSequence: Int64
    /// Whether the log was reset since the last call: list the workspace, and continue from ``lastSequence``.
    public let isReset: Bool

    /// Creates an instance with the given properties.
    public init(changes: [PydioLoggedChange], lastSequence: Int64, isReset: Bool = false) {
        self.changes = changes
        self.lastSequence = lastSequence
        self.isReset = isReset
    }
}

/// One entry of the log.
public struct PydioLoggedChange: Sendable, Hashable {
    /// The kind of change.
    public enum Kind: String, Sendable, Hashable {
        case create
        case delete
        /// The node was renamed or moved.
        case path
        case content
    }

    /// The current state of the node, not that at the time of the change.
    public struct Node: Sendable, Hashable {
        /// The size in bytes.
        public let size: Int64?
        /// The MD5 in hexadecimal digits; `nil` for a folder.
        public let md5: String?
        /// The modification time.
        public let mTime: Date?
        /// The path; `nil` if the user may not see it.
        public let path: String?
        /// Whether it is a folder.
        public let isFolder: Bool

        /// Creates an instance with the given properties.
        public init(size: Int64?, md5: String?, mTime: Date?, path: String?, isFolder: Bool) {
            self.size = size
            self.md5 = md5
            self.mTime = mTime
            self.path = path
            self.isFolder = isFolder
        }
    }

    /// The position in the log.
    public let sequence: Int64
    /// The server's number for the node.
    public let nodeId: Int64?
    /// The kind of change.
    public let kind: Kind
    /// The path before the change; `nil` for a created node.
    public let source: String?
    /// The path after the change; `nil` for a deleted node.
    public let target: String?
    /// The node; `nil` if it no longer exists.
    public let node: Node?

    /// Creates an instance with the given properties.
    public init(sequence: Int64, nodeId: Int64?, kind: Kind, source: String?, target: String?, node: Node?) {
        self.sequence = sequence
        self.nodeId = nodeId
        self.kind = kind
        self.source = source
        self.target = target
        self.node = node
    }
}
