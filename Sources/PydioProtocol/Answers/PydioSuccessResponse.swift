/// What the server says of an operation that it has carried out.
public struct PydioSuccessResponse: Sendable, Hashable {
    /// The server's words, for people, in the language of the user; nil if it has none.
    public let message: String?
    /// What has changed; nil if the server does not say.
    public let nodesDiff: NodesDiff?
    /// Whether messages wait for the client that polls for them.
    public let hasWaitingMessages: Bool

    /// See the properties.
    public init(message: String? = nil, nodesDiff: NodesDiff? = nil, hasWaitingMessages: Bool = false) {
        self.message = message
        self.nodesDiff = nodesDiff
        self.hasWaitingMessages = hasWaitingMessages
    }
}
