/// The identity and tokens of a logged-in user. Its description contains no token.
public struct MXCredentials: Sendable, Hashable, Codable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The homeserver's base URL.
    public var homeServer: String?
    /// The user id: `@local:server`.
    public var userId: String?
    /// The access token. Secret.
    public var accessToken: String?
    /// The device that the access token belongs to.
    public var deviceId: String?
    /// The refresh token; `nil` if the server issues none. The access token is then valid until it is revoked.
    public var refreshToken: String?
    /// The time at which the access token expires, in milliseconds since 1970; 0 if it does not expire.
    public var accessTokenExpiresAt: UInt64 = 0

    /// Creates credentials from what is known so far.
    public init(homeServer: String? = nil, userId: String? = nil, accessToken: String? = nil) {
        self.homeServer = homeServer
        self.userId = userId
        self.accessToken = accessToken
    }

    /// Creates a copy, for code that copies the result of a login.
    public init(from other: MXCredentials) {
        self = other
    }

    /// Creates credentials from the response to a login or registration. If it failed, they are empty: a session that
    /// starts with them reports that no user is logged in, and `response.error` gives the reason.
    public init(from response: MXResponse<MXCredentials>) {
        self = response.value ?? MXCredentials()
    }

    /// The user and the server only.
    public var description: String { "credentials of \(userId ?? "nobody") on \(homeServer ?? "no server")" }
    /// Same as ``description``.
    public var debugDescription: String { description }
    /// A mirror without the tokens.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
