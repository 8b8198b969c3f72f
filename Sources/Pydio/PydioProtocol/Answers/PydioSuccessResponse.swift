/// What the server says of an operation that it has carried out.
public struct PydioSuccessResponse: Sendable, Hashable {
    /// The server's words, for people, in the language of the user; nil if it has none.
    public let message: String?
    /// What has changed; nil if the server does not say.
    public let nodesDiff: NodesDiff?
    /// Whether messages wait for the client that polls for them.
    public let hasWaitingMessages: Bool

    /// Where the node is that was created, uploaded or renamed. Servers may change the name that they are sent, and only say
    /// so here. Nil if the answer doesn't say.
    public var newPath: String? { (nodesDiff?.added.first ?? nodesDiff?.updated.first)?.fullPath }

    /// See the properties.
    public init(message: String? = nil, nodesDiff: NodesDiff? = nil, hasWaitingMessages: Bool = false) {
        self.message = message
        self.nodesDiff = nodesDiff
        self.hasWaitingMessages = hasWaitingMessages
    }
}
