public import Foundation

/// What has changed in a workspace: part of an answer to who changed it, or of a message to everybody.
///
/// The two differ: of a move or a deletion into the bin, the answer says that one node was removed and another added, and
/// the message that one was updated whose ``NodeResponse/originalPath`` is another.
public struct NodesDiff: Sendable, Hashable {
    /// One change.
    public enum Change: Sendable, Hashable {
        /// Created, uploaded, or the target of a copy.
        case added(NodeResponse)
        /// Content, metadata, name or place has changed.
        case updated(NodeResponse)
        /// Gone. The time is the server's, where it says.
        case removed(path: String, time: Date?)
    }

    /// In the order of the document.
    public var changes: [Change]

    /// See the properties.
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

    /// The paths of those that were removed.
    public var removed: [String] {
        changes.compactMap { if case .removed(let path, _) = $0 { path } else { nil } }
    }
}
