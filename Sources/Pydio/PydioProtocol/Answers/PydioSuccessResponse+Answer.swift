extension PydioSuccessResponse {
    /// - Returns: `nil` unless a success message comes first.
    init?(answer root: XMLNode) {
        guard root.name == "tree", let message = root.children.first, message.name == "message",
            message["type"] == "SUCCESS"
        else { return nil }
        self.init(rest: root, message: message.text)
    }

    /// Reads the rest of an answer.
    init(rest root: XMLNode, message: String? = nil) {
        let diffs = root.children("nodes_diff").map { NodesDiff($0) }
        self.init(
            message: message.map { SafeText.cleaned($0, limit: 1000, without: []) },
            nodesDiff: diffs.isEmpty ? nil : NodesDiff(diffs.flatMap(\.changes)),
            hasWaitingMessages: root.child("consume_channel") != nil)
    }
}
