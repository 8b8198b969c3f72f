/// What plugins know of a node.
struct NodeNotes: Sendable {
    struct Comment: Sendable {
        let author: String
        let content: String
        /// Unix time.
        let date: Int
        let uuid: String
    }

    /// By the names of fields.
    var metadata: [String: String] = [:]
    var comments: [Comment] = []
    /// Who has locked it.
    var lock: String?
    /// What users are notified of, by their ids; empty is what no version has a name for.
    var watches: [String: String] = [:]

    /// Fields of metadata, with what people call them.
    static let fields = [("tags", "Tags"), ("note", "A note")]
}
