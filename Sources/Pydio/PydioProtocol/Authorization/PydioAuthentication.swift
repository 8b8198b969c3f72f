/// The method by which a client authenticates.
@nonexhaustive
public enum PydioAuthentication: Sendable, Hashable {
    /// The best method that the server offers: a key pair if it has the REST interface and issues one, otherwise a
    /// session. The client requests a key pair only from a server that receives the password anyway: with a server that
    /// accepts it hashed, it uses a session.
    case automatic
    /// A session with its cookie and token, as in the original library.
    case session
    /// Like `session`, but with a cookie by which the server remembers the login after the session has ended, usually
    /// for ten days. It is one of ``ServersParamsManager/allServerCookies(_:)``: if you store them across processes,
    /// you need no password. Servers that don't remember logins send no such cookie.
    case rememberedSession
    /// A key pair only.
    case keystoreToken
}
