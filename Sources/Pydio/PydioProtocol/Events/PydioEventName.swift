/// Names of the events of a workspace. Their data is a JSON object; what is not known of a node is left out of it.
///
/// | key | of | |
/// |---|---|---|
/// | `path` | nodes | where it is, beginning with `/`; of a deleted node, where it was |
/// | `original_path` | moved nodes | where it was |
/// | `is_leaf` | nodes | whether it is a file |
/// | `size` | nodes | bytes |
/// | `mtime` | nodes | when it was changed: seconds since 1970 by the server's clock |
/// | `md5` | files in the log of changes | in hexadecimal digits |
/// | `seq` | changes in the log of changes | to go on from |
/// | `late` | nodes | `true` if the change was found by listing the workspace after a gap |
/// | `object`, `node`, `file` | reloads | what is to be listed again, in which folder, and which file in it |
/// | `workspace_id` | changes of workspaces | the one that the server names |
/// | `xml` | messages | an element that is not known, as XML |
/// | `state` | states | the name of a `ConnectionState` |
///
/// Files that have a temporary name while a sync uploads them are reported when they get their own.
public enum PydioEventName {
    /// A file or folder was created or uploaded, or is the target of a copy. Of a copied folder the server tells alone,
    /// not what is in it.
    public static let nodeCreated = "pydio:node_created"
    /// Its content or what is known of it has changed.
    public static let nodeUpdated = "pydio:node_updated"
    /// Renamed, or moved with everything in it; into the bin as well, where the server keeps no log of changes.
    public static let nodeMoved = "pydio:node_moved"
    /// Gone, with everything that was in it.
    public static let nodeDeleted = "pydio:node_deleted"
    /// The user's bookmarks have changed.
    public static let bookmarksChanged = "pydio:bookmarks_changed"
    /// The user's workspaces have changed, or the rights in them.
    public static let workspacesChanged = "pydio:workspaces_changed"
    /// Something is to be listed again.
    public static let reload = "pydio:reload"
    /// Something else that the server tells.
    public static let message = "pydio:message"
    /// The source is in another state.
    public static let state = "pydio:state"
}
