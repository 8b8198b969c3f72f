import PusherProtocol

/// One event from the application's server to one channel.
struct Publication: Hashable {
    var event: String
    var channel: String
    var data: String
    /// The connection that does not receive the event.
    var excluded: SocketID?
}
