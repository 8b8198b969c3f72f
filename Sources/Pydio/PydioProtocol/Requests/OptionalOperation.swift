/// An operation that only some servers have, by plugins or in later versions. To others it is an unknown action, which
/// they ignore and answer with an empty 200 (section 0 of the protocol's notes).
package enum OptionalOperation: String, Sendable, CaseIterable {
    case search
    case contentHash = "stat_hash"
    case crossCopy = "cross_copy"
    case compression = "compress"
    case permissions = "chmod"
    case purge
    case nodeMetadata = "edit_user_meta"
    case comments = "load_comments_feed"
    case locks = "sl_lock"
    case quota = "monitor_quota"
    case watches = "toggle_watch"
    case activities = "get_my_feed"

    /// The name of the operation, for messages.
    private var name: String {
        switch self {
        case .search: "search"
        case .contentHash: "hashes of files"
        case .crossCopy: "copies between workspaces"
        case .compression: "archives"
        case .permissions: "permissions"
        case .purge: "purging"
        case .nodeMetadata: "metadata"
        case .comments: "comments"
        case .locks: "locks"
        case .quota: "quotas"
        case .watches: "notifications"
        case .activities: "feeds of activities"
        }
    }

    /// The servers of versions 5 to 8 that have the operation.
    private var requirement: String {
        switch self {
        case .search: "it needs an index, by the plugin index.lucene or, from version 6 on, index.elastic"
        case .contentHash: "it needs the plugin meta.filehasher, which versions from 5 on have"
        case .crossCopy: "it needs version 5 or later, and two workspaces of files"
        case .compression: "it needs a workspace of files in which creating zip archives is allowed"
        case .permissions: "it needs a workspace on a file system with permissions"
        case .purge: "it needs a workspace on a file system"
        case .nodeMetadata: "it needs the plugin meta.user"
        case .comments: "it needs the plugin meta.comments, which versions from 5.2 on have"
        case .locks: "it needs the plugin meta.simple_lock"
        case .quota: "it needs the plugin meta.quota"
        case .watches: "it needs the plugin meta.watch, which versions from 5 on have"
        case .activities: "it needs the plugin core.notifications with a database, which versions from 5 on have"
        }
    }

    fileprivate var message: String {
        "the server does not offer \(name) here (\(rawValue)), and nothing was changed: \(requirement)"
    }
}

extension PydioError {
    package static func unsupported(_ operation: OptionalOperation) -> PydioError {
        PydioError(.unsupportedOperation, operation.message)
    }
}
