import Basics
public import Foundation

/// A file or folder of a workspace, as described by the server at one time.
public final class NodeResponse: Sendable {
    /// The folder that it was listed in, while that object exists; `nil` for the requested node itself.
    public var parent: NodeResponse? { parentReference }
    /// The display name; empty for the root.
    public let name: String
    /// Whether it is a file.
    public let isLeaf: Bool
    /// The path in its workspace, beginning with `/`; empty for the root.
    public let path: String
    /// The size in bytes; 0 if the server doesn't report it.
    public let size: Int64
    /// The modification time, by the server's clock.
    public let mTime: Date?
    /// The entries in the server's order; `nil` if there are none, or they were not listed.
    public let children: [NodeResponse]?
    /// All other attributes, by the server's names.
    public let attributes: [String: String]
    /// The page of a large folder; `nil` if it was sent whole.
    public let pagination: NodePagination?

    // Set once, while the tree is built and not shared; afterwards only read, or cleared by the runtime, which is safe
    // for weak references.
    nonisolated(unsafe) private weak var parentReference: NodeResponse?

    /// Creates a node with the given properties. It becomes the parent of its children, so pass them to one node only.
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

    /// The previous path of an updated node, in messages and answers about changes; `nil` if not reported.
    public var originalPath: String? { attributes["original_path"] }

    /// Whether this is the workspace's bin.
    public var isRecycleBin: Bool { attributes["ajxp_mime"] == "ajxp_recycle" }

    /// Whether a recursive listing omitted the contents of this folder.
    public var hasUnlistedChildren: Bool { attributes["ajxp_has_children"] == "true" }

    /// Whether it is one of the user's bookmarks.
    public var isBookmarked: Bool { attributes["ajxp_bookmarked"] == "true" }

    /// Returns whether name, kind, path, size and time are equal.
    public func isValuesEqual(_ other: NodeResponse) -> Bool {
        name == other.name && isLeaf == other.isLeaf && path == other.path && size == other.size
            && mTime == other.mTime
    }

    /// Returns whether the nodes and all their contents are equal, in order.
    public func isTreeEqual(_ other: NodeResponse) -> Bool {
        let (mine, others) = (children ?? [], other.children ?? [])
        return isValuesEqual(other) && mine.count == others.count
            && zip(mine, others).allSatisfy { $0.isTreeEqual($1) }
    }
}

extension NodeResponse: Hashable, CustomStringConvertible {
    /// Same as ``isTreeEqual(_:)``.
    public static func == (lhs: NodeResponse, rhs: NodeResponse) -> Bool { lhs.isTreeEqual(rhs) }

    /// Hashes path, size and time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(size)
        hasher.combine(mTime)
    }

    /// The full path.
    public var description: String { fullPath }
}

/// The page of a large folder that a listing contains.
public struct NodePagination: Sendable, Hashable {
    /// The number of entries of the whole folder.
    public let count: Int
    /// The number of pages of the whole folder.
    public let total: Int
    /// The number of this page, from 1.
    public let current: Int

    /// Creates an instance with the given properties.
    public init(count: Int, total: Int, current: Int) {
        (self.count, self.total, self.current) = (count, total, current)
    }
}
