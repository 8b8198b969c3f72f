/// Plugins' notes about a node.
struct NodeNotes: Sendable {
    struct Comment: Sendable {
        let author: String
        let content: String
        /// Unix time.
        let date: Int
        let uuid: String
    }

    /// By field name.
    var metadata: [String: String] = [:]
    var comments: [Comment] = []
    /// The user who has locked it.
    var lock: String?
    /// Notification settings by user ID; empty is a setting that no version has a name for.
    var watches: [String: String] = [:]

    /// Metadata fields with their labels.
    static let fields = [("tags", "Tags"), ("note", "A note")]
}
