/// A user's bookmark in a workspace.
public struct PydioBookmark: Sendable, Hashable {
    /// The node's path.
    public let path: String
    /// The user's title of the bookmark.
    public let title: String

    /// Creates an instance with the given properties.
    public init(path: String, title: String) {
        (self.path, self.title) = (path, title)
    }
}
