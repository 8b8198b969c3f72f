import JSONBytes
import PusherProtocol

/// How a client proves who its user is (Pusher protocol, "User authentication").
public enum UserAuthMethod: Sendable {
    /// An endpoint of the application's server: it gets a form with `socket_id` by POST and answers
    /// `{"auth": …, "user_data": …}` with status 200 or 201. `PusherClientOptions.authHeaders` and `authParameters`
    /// are sent along.
    case endpoint(String)
    /// Anything else that the application does. What it throws fails the sign-in.
    case provider(@Sendable (_ socketID: String) async throws -> PusherUserAuth)
    /// Signs locally. For development and trusted programs: whoever has the program has the secret.
    case inline(secret: String, user: PusherUserData)
    /// None: signing in fails.
    case noMethod
}

extension UserAuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Its name, never a secret or what the application gave.
    public var description: String {
        switch self {
        case .endpoint: "endpoint"
        case .provider: "provider"
        case .inline: "inline"
        case .noMethod: "noMethod"
        }
    }

    /// Its name, never a secret or what the application gave.
    public var debugDescription: String { description }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A user's signature as the application's server gives it.
public struct PusherUserAuth: Sendable, Hashable {
    /// `key:signature`.
    public let auth: String
    /// JSON text with `id`. Part of what is signed: not to be changed.
    public let userData: String

    /// A signature with what belongs to it.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }
}

extension PusherUserAuth: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the signature.
    public var description: String { "PusherUserAuth" }

    /// Never the signature.
    public var debugDescription: String { description }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A user to sign in as, for ``UserAuthMethod/inline(secret:user:)``.
public struct PusherUserData: Sendable {
    /// The signed text; nil if `userInfo` cannot be written as JSON.
    let text: String?

    /// - Parameters:
    ///   - id: Not empty.
    ///   - userInfo: Anything that JSON can hold.
    ///   - watchlist: Ids of at most 100 users whose coming and going is told.
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
