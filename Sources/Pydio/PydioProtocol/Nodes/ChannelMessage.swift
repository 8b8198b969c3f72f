/// One message of a workspace's channel, from a poll or a WebSocket (8.3).
package enum ChannelMessage: Hashable, Sendable {
    case nodesDiff(NodesDiff)
    case reloadBookmarks
    /// The user's workspaces, or the rights in them, have changed: a `reload_instruction` for their list.
    case reloadWorkspaces
    /// Something must be listed again: the kind of object, the folder, and the file in it.
    case reload(object: String, node: String?, file: String?)
    /// Workspaces or rights have changed, or the session's workspace is not the channel's: nothing was delivered.
    case requireRegistryReload(workspaceId: String?)
    /// Messages are waiting.
    case consumeChannel
    /// Anything else, as XML.
    case other(xml: String)

    /// Returns the messages of a document in order; `nil` if it is not a document of messages.
    package static func list(in root: XMLNode) -> [ChannelMessage]? {
        guard root.name == "tree" else {
            // A single message may arrive without an enclosing document.
            return knownNames.contains(root.name) ? [ChannelMessage(root)] : nil
        }
        return root.children.map { ChannelMessage($0) }
    }

    private static let knownNames: Set<String> = [
        "nodes_diff", "reload_bookmarks", "reload_instruction", "require_registry_reload", "consume_channel",
    ]

    private init(_ element: XMLNode) {
        switch element.name {
        case "nodes_diff": self = .nodesDiff(NodesDiff(element))
        case "reload_bookmarks": self = .reloadBookmarks
        case "require_registry_reload": self = .requireRegistryReload(workspaceId: element["repositoryId"])
        case "consume_channel": self = .consumeChannel
        case "reload_instruction":
            let object = element["object"] ?? "data"
            self =
                object == "repository_list"
                ? .reloadWorkspaces : .reload(object: object, node: element["node"], file: element["file"])
        default: self = .other(xml: element.serialised)
        }
    }
}
