import PusherProtocol

/// One event from the application's server to one channel.
struct Publication: Hashable {
    var event: String
    var channel: String
    var data: String
    /// Does not get it.
    var excluded: SocketID?
}
