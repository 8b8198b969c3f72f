import JSONBytes
import PusherProtocol

/// The method by which a client proves the identity of its user (Pusher protocol, "User authentication").
public enum UserAuthMethod: Sendable {
    /// An endpoint of the application's server. It receives a form with `socket_id` by POST and answers with
    /// `{"auth": …, "user_data": …}` and status 200 or 201. The client also sends `PusherClientOptions.authHeaders` and
    /// `authParameters`.
    case endpoint(String)
    /// The application's own way to authenticate. An error that it throws fails the sign-in.
    case provider(@Sendable (_ socketID: String) async throws -> PusherUserAuth)
    /// Signing by the client itself. For development and trusted programs: anyone with the program has the secret.
    case inline(secret: String, user: PusherUserData)
    /// No method: signing in fails.
    case noMethod
}

extension UserAuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method's name, never a secret or the application's values.
    public var description: String {
        switch self {
        case .endpoint: "endpoint"
        case .provider: "provider"
        case .inline: "inline"
        case .noMethod: "noMethod"
        }
    }

    /// The method's name, never a secret or the application's values.
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A user's signature from the application's server.
public struct PusherUserAuth: Sendable, Hashable {
    /// `key:signature`.
    public let auth: String
    /// JSON text with `id`. It is part of the signed text, so don't change it.
    public let userData: String

    /// Creates a signature with its signed data.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }
}

extension PusherUserAuth: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the signature.
    public var description: String { "PusherUserAuth" }

    /// A description without the signature.
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A user to sign in as, for ``UserAuthMethod/inline(secret:user:)``.
public struct PusherUserData: Sendable {
    /// The signed text; `nil` if `userInfo` cannot be encoded as JSON.
    let text: String?

    /// - Parameters:
    ///   - id: The user's id. Must not be empty.
    ///   - userInfo: Any JSON value.
    ///   - watchlist: Ids of at most 100 users whose online status is reported.
    public init(id: String, userInfo: Any? = nil, watchlist: [String] = []) {
        let info = userInfo.map { JSON.text($0) }
        guard info != .some(nil) else {
            text = nil
            return
        }
        text =
            #"{"id":\#(JSONString.quoted(id))"# + ((info ?? nil).map { #","user_info":\#($0)"# } ?? "")
            + (watchlist.isEmpty ? "" : #","watchlist":\#(JSON.text(watchlist) ?? "[]")"#) + "}"
    }
}
