public import Foundation

/// An activity of a user, from the server's feed.
public struct PydioActivity: Sendable, Hashable {
    /// The affected node, in its current state.
    public let node: NodeResponse
    /// The path of the node in its workspace.
    public let path: String
    /// The workspace's id; `nil` if the server doesn't report it.
    public let workspaceId: String?
    /// A description of the activity for people, in the user's language; `nil` if the server doesn't report it.
    public let summary: String?
    /// The user who did it; `nil` if the server doesn't report it.
    public let author: String?
    /// The time, by the server's clock; `nil` if the server doesn't report it.
    public let date: Date?

    init(_ node: NodeResponse) {
        self.node = node
        // Newer servers number the entries instead, so that each has its own path.
        path = node.attributes["real_path"] ?? node.fullPath
        workspaceId = node.attributes["repository_id"]
        summary = node.attributes["event_description_long"] ?? node.attributes["event_description"]
        author = node.attributes["event_author"]
        date = node.attributes["event_time"].flatMap { NodeResponse.time($0) }
    }
}
