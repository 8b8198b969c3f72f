extension PusherMockServer {
    /// An event at the server.
    public enum LogEntry: Hashable, Sendable {
        /// A connection received its socket id.
        case connectionOpened(socketID: String, app: String)
        /// An upgraded connection was refused with this code.
        case connectionRefused(code: Int)
        /// A connection was closed. `code` is that of the first close frame of either side; `nil` if there was none.
        case connectionClosed(socketID: String, code: Int?)
        /// A text frame.
        case frameReceived(String, socketID: String)
        case frameSent(String, socketID: String)
        /// Control frames.
        case pingReceived(socketID: String)
        case pongReceived(socketID: String)
        /// The connection is subscribed and has been notified.
        case subscribed(channel: String, socketID: String)
        case unsubscribed(channel: String, socketID: String)
        /// The subscription was refused. The reason contains no signature.
        case subscriptionRefused(channel: String, socketID: String, reason: String)
        // Indirect, because each entry of a log takes the space of the largest case.
        /// An event was published or a client event forwarded, once for all recipients.
        indirect case published(PublishedEvent)
        /// An element of a webhook's `events`, as JSON. `app` is the application's key.
        case webhook(event: String, app: String)
        /// One attempt to deliver a webhook; no status if there was no answer.
        case webhookSent(body: String, app: String, status: Int?)
        /// A failed ``webhookSent(body:app:status:)``, which it follows.
        indirect case webhookFailed(WebhookFailure)
        case authRequest(AuthRequest)
        case httpRequest(method: String, path: String, status: Int)
        /// A connection cannot be accepted, usually because the process has no file descriptors left. New ones wait in the
        /// system's queue; the server tries again each second. Logged at most once a minute.
        case acceptingPaused(reason: String)
        /// The number of entries missing before the next one. Only in a sequence whose reader fell behind.
        case missed(count: Int)
    }

    /// An event on its way to a channel's subscribers.
    public struct PublishedEvent: Hashable, Sendable {
        /// The publisher of the event.
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
        /// The data as text; encrypted on an encrypted channel.
        public let data: String
        /// The application's key.
        public let app: String
        /// The publisher of the event.
        public let origin: Origin
        /// The number of connections that it is sent to.
        public let recipientCount: Int
    }

    /// A failed attempt to deliver a webhook.
    public struct WebhookFailure: Hashable, Sendable {
        /// The application's key.
        public let app: String
        /// The status of the receiver's answer; `nil` if there was no answer.
        public let status: Int?
        /// A description for people.
        public let reason: String
        /// The delay until the retry; `nil` if there is none.
        public let retryDelay: Duration?
    }

    /// A request to an auth endpoint.
    public struct AuthRequest: Hashable, Sendable {
        /// `/pusher/auth` or `/pusher/user-auth`.
        public let path: String
        /// The form parameters of the body, including `socket_id`.
        public let parameters: [String: String]
        /// The header fields, with names in lower case.
        public let headers: [String: String]

        /// The parameter `socket_id`.
        public var socketID: String? { parameters["socket_id"] }
        /// The parameter `channel_name`; `nil` if a user is authenticated.
        public var channelName: String? { parameters["channel_name"] }
    }
}
