public import Foundation

/// The changes in a workspace: part of the answer to the client that made them, or of a message to all clients.
///
/// The two differ: for a move or a deletion into the bin, the answer reports that one node was removed and another
/// added; the message reports an update of a node with a different ``NodeResponse/originalPath``.
public struct NodesDiff: Sendable, Hashable {
    /// One change.
    public enum Change: Sendable, Hashable {
        /// The node was created, uploaded, or is the target of a copy.
        case added(NodeResponse)
        /// The content, metadata, name or path has changed.
        case updated(NodeResponse)
        /// The node was removed. The time is the server's, if reported.
        case removed(path: String, time: Date?)
    }

    /// The changes, in the order of the document.
    public var changes: [Change]

    /// Creates an instance with the given properties.
    public init(_ changes: [Change] = []) {
        self.changes = changes
    }

    /// The nodes that were added.
    public var added: [NodeResponse] {
        changes.compactMap { if case .added(let node) = $0 { node } else { nil } }
    }

    /// The nodes that were updated.
    public var updated: [NodeResponse] {
        changes.compactMap { if case .updated(let node) = $0 { node } else { nil } }
    }

    /// The paths of the nodes that were removed.
    public var removed: [String] {
        changes.compactMap { if case .removed(let path, _) = $0 { path } else { nil } }
    }
}
