import Basics
public import Foundation

/// A file or folder of a workspace as the server described it once.
public final class NodeResponse: Sendable {
    /// The folder that it was listed in, while that is held; nil for the one that was asked for.
    public var parent: NodeResponse? { parentReference }
    /// Its name for people; empty for the root.
    public let name: String
    /// Whether it is a file.
    public let isLeaf: Bool
    /// Where it is in its workspace, beginning with `/`; empty for the root.
    public let path: String
    /// Bytes; 0 if the server does not say.
    public let size: Int64
    /// When it was changed, by the server's clock.
    public let mTime: Date?
    /// What it holds, in the server's order; nil if there is nothing, or it was not listed.
    public let children: [NodeResponse]?
    /// All other attributes, under the names of the server.
    public let attributes: [String: String]
    /// Which part of a large folder this is; nil if it came whole.
    public let pagination: NodePagination?

    // Set once, while the tree is built and nobody else has it; ever after it is only read, or cleared by the runtime,
    // which is safe for weak references.
    nonisolated(unsafe) private weak var parentReference: NodeResponse?

    /// See the properties. The children's parent is this node from now on: give them to one node only.
    public init(
        name: String, isLeaf: Bool, path: String, size: Int64 = 0, mTime: Date? = nil, children: [NodeResponse]? = nil,
        attributes: [String: String] = [:], pagination: NodePagination? = nil
    ) {
        self.name = name
        self.isLeaf = isLeaf
        self.path = path
        self.size = size
        self.mTime = mTime
        self.children = children
        self.attributes = attributes
        self.pagination = pagination
        for child in children ?? [] { child.parentReference = self }
    }

    /// The path from the root of the workspace, which is `/`.
    public var fullPath: String {
        guard !path.startsExactly(with: "/") else { return path }
        guard !path.isEmpty else { return "/" }
        let folder = parent?.fullPath ?? "/"
        return folder.hasSuffix("/") ? folder + path : folder + "/" + path
    }

    /// Where an updated node was before, in messages and answers about changes; nil if they do not say.
    public var originalPath: String? { attributes["original_path"] }

    /// Whether this is the workspace's bin.
    public var isRecycleBin: Bool { attributes["ajxp_mime"] == "ajxp_recycle" }

    /// Whether a recursive listing left out what is in this folder.
    public var hasUnlistedChildren: Bool { attributes["ajxp_has_children"] == "true" }

    /// Whether the server counts it among the user's bookmarks.
    public var isBookmarked: Bool { attributes["ajxp_bookmarked"] == "true" }

    /// Whether name, kind, path, size and time are the same.
    public func isValuesEqual(_ other: NodeResponse) -> Bool {
        name == other.name && isLeaf == other.isLeaf && path == other.path && size == other.size
            && mTime == other.mTime
    }

    /// The same of all that they hold, in order.
    public func isTreeEqual(_ other: NodeResponse) -> Bool {
        let (mine, others) = (children ?? [], other.children ?? [])
        return isValuesEqual(other) && mine.count == others.count
            && zip(mine, others).allSatisfy { $0.isTreeEqual($1) }
    }
}

extension NodeResponse: Hashable, CustomStringConvertible {
    /// ``isTreeEqual(_:)``
    public static func == (lhs: NodeResponse, rhs: NodeResponse) -> Bool { lhs.isTreeEqual(rhs) }

    /// By path, size and time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(size)
        hasher.combine(mTime)
    }

    /// The full path.
    public var description: String { fullPath }
}

/// Which part of a large folder a listing holds.
public struct NodePagination: Sendable, Hashable {
    /// Entries of the whole folder.
    public let count: Int
    /// Pages of the whole folder.
    public let total: Int
    /// The page that this is, from 1.
    public let current: Int

    /// See the properties.
    public init(count: Int, total: Int, current: Int) {
        (self.count, self.total, self.current) = (count, total, current)
    }
}
