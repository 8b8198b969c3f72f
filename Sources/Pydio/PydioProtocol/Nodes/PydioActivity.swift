public import Foundation

/// Something that somebody has done, as the server's feed tells it.
public struct PydioActivity: Sendable, Hashable {
    /// What it was done to, as it is now.
    public let node: NodeResponse
    /// Where that is in its workspace.
    public let path: String
    /// The workspace's id; nil if the server does not say.
    public let workspaceId: String?
    /// What was done, for people, in the language of the user; nil if the server does not say.
    public let summary: String?
    /// Who did it; nil if the server does not say.
    public let author: String?
    /// When, by the server's clock; nil if the server does not say.
    public let date: Date?

    init(_ node: NodeResponse) {
        self.node = node
        // Newer servers number the entries instead, so that each has a path of its own.
        path = node.attributes["real_path"] ?? node.fullPath
        workspaceId = node.attributes["repository_id"]
        summary = node.attributes["event_description_long"] ?? node.attributes["event_description"]
        author = node.attributes["event_author"]
        date = node.attributes["event_time"].flatMap { NodeResponse.time($0) }
    }
}
