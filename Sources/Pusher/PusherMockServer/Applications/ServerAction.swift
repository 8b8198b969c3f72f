import PusherProtocol

/// What the server is to do after something happened to an application. Order matters.
enum ServerAction: Hashable {
    /// One frame and the connections that are to get it, so that it is encoded once however many they are.
    case send(String, to: [SocketID])
    case close(SocketID, code: Int, reason: String)
    case tell(WebhookEvent)
    case log(PusherMockServer.LogEntry)
}
