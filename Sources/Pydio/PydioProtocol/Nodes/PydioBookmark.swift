/// A bookmark of a user's in a workspace.
public struct PydioBookmark: Sendable, Hashable {
    /// The node's path.
    public let path: String
    /// What the user calls it.
    public let title: String

    /// See the properties.
    public init(path: String, title: String) {
        (self.path, self.title) = (path, title)
    }
}
