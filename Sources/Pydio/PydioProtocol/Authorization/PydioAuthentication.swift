/// How a client proves who it is.
@nonexhaustive
public enum PydioAuthentication: Sendable, Hashable {
    /// By what the server offers: a key pair where it has the REST interface and gives one, else a session. Nobody is asked
    /// for a pair who could not be told the password anyway: a server that takes it hashed gets a session.
    case automatic
    /// By a session with its cookie and token, as the original library does.
    case session
    /// The same, with a cookie by which the server remembers the login when the session is over, for ten days as a rule. It
    /// is one of ``ServersParamsManager/allServerCookies(_:)``: whoever keeps them over processes needs no password. Servers
    /// may not remember logins; there is no such cookie then.
    case rememberedSession
    /// By a key pair alone.
    case keystoreToken
}
