/// The names of the events of a workspace. Their data is a JSON object, without the unknown values of a node.
///
/// | key | of | |
/// |---|---|---|
/// | `path` | nodes | the path, beginning with `/`; for a deleted node, its last path |
/// | `original_path` | moved nodes | the previous path |
/// | `is_leaf` | nodes | whether it is a file |
/// | `size` | nodes | the size in bytes |
/// | `mtime` | nodes | the modification time: seconds since 1970 by the server's clock |
/// | `md5` | files in the change log | the MD5 in hexadecimal digits |
/// | `seq` | changes in the change log | the position to continue from |
/// | `late` | nodes | `true` if the change was found by listing the workspace after a gap |
/// | `object`, `node`, `file` | reloads | the kind of object to list again, the folder, and the file in it |
/// | `workspace_id` | changes of workspaces | the workspace that the server names |
/// | `xml` | messages | an unknown element, as XML |
/// | `state` | states | the name of a `ConnectionState` |
///
/// Files that a sync uploads under a temporary name are reported when they get their final name.
public enum PydioEventName {
    /// A file or folder was created or uploaded, or is the target of a copy. For a copied folder, the server reports
    /// only the folder, not its contents.
    public static let nodeCreated = "pydio:node_created"
    /// The node's content or attributes have changed.
    public static let nodeUpdated = "pydio:node_updated"
    /// The node was renamed, or moved with everything in it; without a change log, also if moved to the bin.
    public static let nodeMoved = "pydio:node_moved"
    /// The node was deleted, with everything in it.
    public static let nodeDeleted = "pydio:node_deleted"
    /// The user's bookmarks have changed.
    public static let bookmarksChanged = "pydio:bookmarks_changed"
    /// The user's workspaces, or the rights in them, have changed.
    public static let workspacesChanged = "pydio:workspaces_changed"
    /// Something must be listed again.
    public static let reload = "pydio:reload"
    /// Any other message of the server.
    public static let message = "pydio:message"
    /// The state of the source has changed.
    public static let state = "pydio:state"
}
