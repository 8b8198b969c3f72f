/// Who is logged in where, with the tokens to prove it. Printing one shows no token.
public struct MXCredentials: Sendable, Hashable, Codable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The homeserver's base URL.
    public var homeServer: String?
    /// `@local:server`.
    public var userId: String?
    /// What proves who we are. Secret.
    public var accessToken: String?
    /// The device that the token belongs to.
    public var deviceId: String?
    /// Nil if the server gives none: the access token then lives until it is revoked.
    public var refreshToken: String?
    /// Milliseconds since 1970; 0 if the token does not expire.
    public var accessTokenExpiresAt: UInt64 = 0

    /// What is known so far.
    public init(homeServer: String? = nil, userId: String? = nil, accessToken: String? = nil) {
        self.homeServer = homeServer
        self.userId = userId
        self.accessToken = accessToken
    }

    /// The same credentials; for code that copies what a login gave.
    public init(from other: MXCredentials) {
        self = other
    }

    /// What a login or registration gave. Those of nobody if it failed: a session with them says, when it starts, that nobody
    /// is logged in; `response.error` says why.
    public init(from response: MXResponse<MXCredentials>) {
        self = response.value ?? MXCredentials()
    }

    /// User and server only.
    public var description: String { "credentials of \(userId ?? "nobody") on \(homeServer ?? "no server")" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// Nothing of the tokens.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
