public import Foundation

/// What happened in a workspace after a place in the server's log of changes.
public struct PydioChangesResponse: Sendable, Hashable {
    /// In the order in which it happened.
    public let changes: [PydioLoggedChange]
    /// Where to ask from the next time.
    public let lastSequence: Int64
    /// Whether the log has begun anew since the last time: list the workspace, and go on from ``lastSequence``.
    public let isReset: Bool

    /// See the properties.
    public init(changes: [PydioLoggedChange], lastSequence: Int64, isReset: Bool = false) {
        self.changes = changes
        self.lastSequence = lastSequence
        self.isReset = isReset
    }
}

/// One entry of the log.
public struct PydioLoggedChange: Sendable, Hashable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable {
        case create
        case delete
        /// Renamed or moved.
        case path
        case content
    }

    /// The node as it is now, not as it was then.
    public struct Node: Sendable, Hashable {
        /// Bytes.
        public let size: Int64?
        /// In hexadecimal digits; nil for a folder.
        public let md5: String?
        /// When it was changed.
        public let mTime: Date?
        /// Where it is; nil if that is outside of what the user may see.
        public let path: String?
        /// Whether it is a folder.
        public let isFolder: Bool

        /// See the properties.
        public init(size: Int64?, md5: String?, mTime: Date?, path: String?, isFolder: Bool) {
            self.size = size
            self.md5 = md5
            self.mTime = mTime
            self.path = path
            self.isFolder = isFolder
        }
    }

    /// Its place in the log.
    public let sequence: Int64
    /// The server's number for the node.
    public let nodeId: Int64?
    /// What happened.
    public let kind: Kind
    /// Where the node was; nil of one that was created.
    public let source: String?
    /// Where the node is; nil of one that was deleted.
    public let target: String?
    /// Nil if it is gone by now.
    public let node: Node?

    /// See the properties.
    public init(sequence: Int64, nodeId: Int64?, kind: Kind, source: String?, target: String?, node: Node?) {
        self.sequence = sequence
        self.nodeId = nodeId
        self.kind = kind
        self.source = source
        self.target = target
        self.node = node
    }
}
