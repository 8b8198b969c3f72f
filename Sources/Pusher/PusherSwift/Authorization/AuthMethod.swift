public import FoundationNetworking

/// The method by which a client gets the signature that private and presence channels need.
public enum AuthMethod: Sendable {
    /// An endpoint of the application's server. It receives a form with `socket_id` and `channel_name` by POST and
    /// answers with `{"auth": …, "channel_data": …}` with status 200 or 201.
    case endpoint(authEndpoint: String)
    /// Like `endpoint`, but with a request that the application builds.
    case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
    /// The application's own way to get a signature.
    case authorizer(authorizer: any Authorizer)
    /// Like `authorizer`, but an `async` function of the socket id and the channel's name. An error that it throws
    /// fails the subscription, except a ``PusherTemporaryFailure``, which is retried like an endpoint's.
    case provider(@Sendable (_ socketID: String, _ channelName: String) async throws -> PusherAuth)
    /// The application's way to get the signatures of many channels at once, so that thousands of channels cost a few
    /// requests after a reconnect.
    case batch(authorizer: any BatchAuthorizer)
    /// Signing by the client itself. For development and trusted programs: anyone with the program has the secret.
    case inline(secret: String)
    /// No method: subscribing to such channels fails.
    case noMethod
}

extension AuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method's name, never a secret or the application's values.
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

    /// The method's name, never a secret or the application's values.
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A type that builds the request for a channel's signature.
@preconcurrency
public protocol AuthRequestBuilderProtocol: Sendable {
    /// Returns the request for a channel's signature, or `nil` to fail the subscription. Called on the callback queue.
    ///
    /// The request's `timeoutInterval` applies if it is shorter than `PusherClientOptions.authTimeout`. Zero, infinity
    /// and invalid values mean no timeout.
    func requestFor(socketID: String, channelName: String) -> URLRequest?
}

/// A type that gets a channel's signature in its own way.
@preconcurrency
public protocol Authorizer: Sendable {
    /// Gets the signature for a channel. Called on the callback queue.
    ///
    /// - Parameter completionHandler: Call it once, from any thread; later calls are ignored. The subscription fails if
    ///   you pass `nil`, or don't call it within `PusherClientOptions.authTimeout`.
    func fetchAuthValue(
        socketID: String, channelName: String, completionHandler: @escaping @Sendable (PusherAuth?) -> Void)
}

/// A type that gets the signatures of many channels in one call.
public protocol BatchAuthorizer: Sendable {
    /// - Parameter channelNames: At most `PusherClientOptions.maximumChannelsPerAuthRequest`, each once.
    /// - Returns: The signatures by channel name; a channel that is left out fails. An error fails all of them, except
    ///   a ``PusherTemporaryFailure``, which is retried. The task is cancelled when the answer is no longer needed, or
    ///   after `PusherClientOptions.authTimeout`.
    func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth]
}

/// A channel's signature from the application's server.
public struct PusherAuth: Sendable, Hashable {
    /// `key:signature`.
    public let auth: String
    /// JSON text with `user_id` and `user_info`, for presence channels. It is part of the signed text, so don't change
    /// it.
    public let channelData: String?
    /// Base64 of the key of an encrypted channel.
    public let sharedSecret: String?

    /// Creates a signature with its signed data.
    public init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.channelData = channelData
        self.sharedSecret = sharedSecret
    }
}

extension PusherAuth: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the signature and the secret.
    public var description: String { "PusherAuth" }

    /// A description without the signature and the secret.
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An error that an auth provider throws if the same request may soon succeed. The client retries it up to
/// `PusherClientOptions.maximumAuthRetries` times.
public struct PusherTemporaryFailure: Error, Sendable {
    /// A description of the failure. It must not contain secrets, since it goes into errors and logs.
    public let message: String

    /// Creates a temporary failure.
    public init(_ message: String) {
        self.message = message
    }
}
