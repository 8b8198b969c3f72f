extension PusherMockServer {
    /// Something that happened at the server.
    public enum LogEntry: Hashable, Sendable {
        /// A connection got its socket id.
        case connectionOpened(socketID: String, app: String)
        /// An upgraded connection was refused with this code.
        case connectionRefused(code: Int)
        /// `code` is that of the first close frame of either side; nil if there was none.
        case connectionClosed(socketID: String, code: Int?)
        /// A text frame.
        case frameReceived(String, socketID: String)
        case frameSent(String, socketID: String)
        /// Control frames.
        case pingReceived(socketID: String)
        case pongReceived(socketID: String)
        /// The connection is subscribed, and has been told.
        case subscribed(channel: String, socketID: String)
        case unsubscribed(channel: String, socketID: String)
        /// An element of a webhook's `events`, as JSON. `app` is the application's key.
        case webhook(event: String, app: String)
        /// One attempt to deliver a webhook; no status if there was no answer.
        case webhookSent(body: String, app: String, status: Int?)
        case authRequest(AuthRequest)
        case httpRequest(method: String, path: String, status: Int)
    }

    /// What an auth endpoint was asked.
    public struct AuthRequest: Hashable, Sendable {
        /// `/pusher/auth` or `/pusher/user-auth`.
        public let path: String
        /// Form parameters of the body, `socket_id` among them.
        public let parameters: [String: String]
        /// Names in lower case.
        public let headers: [String: String]

        /// The parameter `socket_id`.
        public var socketID: String? { parameters["socket_id"] }
        /// The parameter `channel_name`; nil if a user is authenticated.
        public var channelName: String? { parameters["channel_name"] }
    }
}
