/// The server's answer to a successful operation.
public struct PydioSuccessResponse: Sendable, Hashable {
    /// The server's message for people, in the user's language; `nil` if there is none.
    public let message: String?
    /// The changes; `nil` if the server doesn't report them.
    public let nodesDiff: NodesDiff?
    /// Whether messages are waiting for a client that polls.
    public let hasWaitingMessages: Bool

    /// The path of the node that was created, uploaded or renamed. Servers may change the name that they are sent, and
    /// report that only here. `nil` if the answer doesn't contain it.
    public var newPath: String? { (nodesDiff?.added.first ?? nodesDiff?.updated.first)?.fullPath }

    /// Creates an instance with the given properties.
    public init(message: String? = nil, nodesDiff: NodesDiff? = nil, hasWaitingMessages: Bool = false) {
        self.message = message
        self.nodesDiff = nodesDiff
        self.hasWaitingMessages = hasWaitingMessages
    }
}
