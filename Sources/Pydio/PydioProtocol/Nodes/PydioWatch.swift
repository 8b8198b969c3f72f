/// The events of which the server notifies a user who watches a file or folder.
public enum PydioWatch: String, Sendable, Hashable, CaseIterable {
    /// Changes of the node or its contents.
    case changes = "META_WATCH_CHANGE"
    /// Downloads and views.
    case reads = "META_WATCH_READ"
    case both = "META_WATCH_BOTH"

    /// The value of `watch_action`.
    package var action: String {
        switch self {
        case .changes: "watch_change"
        case .reads: "watch_read"
        case .both: "watch_both"
        }
    }
}
