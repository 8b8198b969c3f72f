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
        /// The connection may not subscribe. The reason holds no signature.
        case subscriptionRefused(channel: String, socketID: String, reason: String)
        // Indirect: a log of many entries has room in each for the largest.
        /// An event was published or a client event passed on, once for all recipients.
        indirect case published(PublishedEvent)
        /// An element of a webhook's `events`, as JSON. `app` is the application's key.
        case webhook(event: String, app: String)
        /// One attempt to deliver a webhook; no status if there was no answer.
        case webhookSent(body: String, app: String, status: Int?)
        /// Follows a ``webhookSent(body:app:status:)`` that did not succeed.
        indirect case webhookFailed(WebhookFailure)
        case authRequest(AuthRequest)
        case httpRequest(method: String, path: String, status: Int)
        /// A connection cannot be accepted, usually because the process has no file descriptors left. New ones wait in the
        /// system's queue; the server tries again each second. Logged at most once a minute.
        case acceptingPaused(reason: String)
        /// Only in a sequence whose reader fell behind: so many entries are missing before the next one.
        case missed(count: Int)
    }

    /// An event on its way to a channel's subscribers.
    public struct PublishedEvent: Hashable, Sendable {
        /// Who published it.
        public enum Origin: Hashable, Sendable {
            /// A call of ``PusherMockServer/publish(event:channel:data:except:app:)``, or a script.
            case server
            case httpAPI
            /// A client event. The user id is the sender's, on a presence channel.
            case client(socketID: String, userID: String?)
        }

        /// The event's name.
        public let event: String
        /// The channel's name.
        public let channel: String
        /// As text; encrypted on an encrypted channel.
        public let data: String
        /// The application's key.
        public let app: String
        /// Who published it.
        public let origin: Origin
        /// Connections that it goes to.
        public let recipientCount: Int
    }

    /// An attempt to deliver a webhook that did not succeed.
    public struct WebhookFailure: Hashable, Sendable {
        /// The application's key.
        public let app: String
        /// What the receiver answered; nil if there was no answer.
        public let status: Int?
        /// For people.
        public let reason: String
        /// When it is tried again; nil if it is given up.
        public let retryDelay: Duration?
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
