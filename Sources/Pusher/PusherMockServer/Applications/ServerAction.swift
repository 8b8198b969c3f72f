import PusherProtocol

/// An action of the server that results from an event of an application. Order matters.
enum ServerAction: Hashable {
    /// Send one frame to several connections, so that it is only encoded once.
    case send(String, to: [SocketID])
    case close(SocketID, code: Int, reason: String)
    case tell(WebhookEvent)
    case log(PusherMockServer.LogEntry)
}
