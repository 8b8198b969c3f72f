public import FoundationNetworking

/// How a client gets the signature that private and presence channels need.
public enum AuthMethod: Sendable {
    /// An endpoint of the application's server: it gets a form with `socket_id` and `channel_name` by POST and answers
    /// `{"auth": …, "channel_data": …}` with status 200 or 201.
    case endpoint(authEndpoint: String)
    /// The same, with a request that the application makes.
    case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
    /// Anything else that the application does.
    case authorizer(authorizer: any Authorizer)
    /// The same as an `async` function of the socket id and the channel's name. What it throws fails the subscription,
    /// but a ``PusherTemporaryFailure`` is tried again as an endpoint's is.
    case provider(@Sendable (_ socketID: String, _ channelName: String) async throws -> PusherAuth)
    /// Gets the signatures of many channels at once, so that thousands of channels cost a few requests after a
    /// reconnect.
    case batch(authorizer: any BatchAuthorizer)
    /// Signs locally. For development and trusted programs: whoever has the program has the secret.
    case inline(secret: String)
    /// None: subscribing to such channels fails.
    case noMethod
}

extension AuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Its name, never a secret or what the application gave.
    public var description: String {
        switch self {
        case .endpoint: "endpoint"
        case .authRequestBuilder: "authRequestBuilder"
        case .authorizer: "authorizer"
        case .provider: "provider"
        case .batch: "batch"
        case .inline: "inline"
        case .noMethod: "noMethod"
        }
    }

    /// Its name, never a secret or what the application gave.
    public var debugDescription: String { description }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Makes the request for a channel's signature.
@preconcurrency
public protocol AuthRequestBuilderProtocol: Sendable {
    /// Called on the callback queue. Nil fails the subscription.
    ///
    /// The request's `timeoutInterval` holds if it is shorter than `PusherClientOptions.authTimeout`. Zero, infinity and what is
    /// no time are none.
    func requestFor(socketID: String, channelName: String) -> URLRequest?
}

/// Gets a channel's signature in a way of its own.
@preconcurrency
public protocol Authorizer: Sendable {
    /// Called on the callback queue.
    ///
    /// - Parameter completionHandler: To be called once, from any thread; later calls are ignored. Nil fails the
    ///   subscription, and so does no call within `PusherClientOptions.authTimeout`.
    func fetchAuthValue(
        socketID: String, channelName: String, completionHandler: @escaping @Sendable (PusherAuth?) -> Void)
}

/// Gets the signatures of many channels in one go.
public protocol BatchAuthorizer: Sendable {
    /// - Parameter channelNames: At most `PusherClientOptions.maximumChannelsPerAuthRequest`, each once.
    /// - Returns: What each channel needs, by name; a channel that is left out fails. What it throws fails all of them,
    ///   but a ``PusherTemporaryFailure`` is tried again.
    ///   The task is cancelled when nobody waits for the answer any more, and when `PusherClientOptions.authTimeout`
    ///   is over.
    func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth]
}

/// A channel's signature as the application's server gives it.
public struct PusherAuth: Sendable, Hashable {
    /// `key:signature`.
    public let auth: String
    /// JSON text with `user_id` and `user_info`, for presence channels. Part of what is signed: not to be changed.
    public let channelData: String?
    /// Base64 of the key of an encrypted channel.
    public let sharedSecret: String?

    /// A signature with what belongs to it.
    public init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.channelData = channelData
        self.sharedSecret = sharedSecret
    }
}

extension PusherAuth: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the signature or the secret.
    public var description: String { "PusherAuth" }

    /// Never the signature or the secret.
    public var debugDescription: String { description }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Thrown by an auth provider: the same request may succeed in a moment, and is made again
/// `PusherClientOptions.maximumAuthRetries` times.
public struct PusherTemporaryFailure: Error, Sendable {
    /// What happened; without secrets, since it goes into errors and logs.
    public let message: String

    /// A failure that may pass.
    public init(_ message: String) {
        self.message = message
    }
}
