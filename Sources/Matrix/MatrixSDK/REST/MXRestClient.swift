import Basics
public import Dispatch
import MatrixProtocol

/// The client-server API of a homeserver, call by call.
///
///     let client = MXRestClient(homeServer: url)
///     _ = try await client.login(username: "alice", password: password)
///     let eventId = try await client.sendTextMessage(toRoom: roomId, text: "hello")
///
/// Cancelling the task of a call cancels the HTTP request. What the server says is thrown as ``MXError``, everything else
/// as ``MatrixError``. The module `SwiftMatrixSDK` adds a form with a callback to each call.
///
/// A server that limits the rate is waited for and asked again, see ``MXRestClientOptions``. When the connection fails,
/// requests that may be repeated (reading, and sending with a transaction id) are tried again; others only if nothing of
/// them was sent. Access tokens are refreshed early, or when the server asks for it, without the caller noticing.
public final class MXRestClient: Sendable {
    let homeserver: Homeserver
    let tokens: AccessTokens
    let encryptedRooms = EncryptedRooms()
    let lastLoginWarnings = Lock<[MXLoginWarning]>([])
    /// Every callback goes through it.
    package let completions: CompletionLine

    /// For calls that need no login, and for logging in.
    ///
    /// - Parameter unrecognizedCertificateHandler: Asked about a server's certificate that no authority vouches for, in DER
    ///   form; `true` trusts exactly that certificate from then on. Called on any thread. Nil refuses.
    public convenience init(
        homeServer: URL, unrecognizedCertificateHandler: (@Sendable (Data) -> Bool)? = nil,
        options: MXRestClientOptions = MXRestClientOptions()
    ) {
        var credentials = MXCredentials()
        credentials.homeServer = homeServer.absoluteString
        self.init(
            credentials: credentials, unrecognizedCertificateHandler: unrecognizedCertificateHandler, options: options)
    }

    /// For somebody who is logged in.
    ///
    /// - Parameters:
    ///   - unrecognizedCertificateHandler: As in ``init(homeServer:unrecognizedCertificateHandler:options:)``.
    ///   - persistentTokenDataHandler: Saves credentials with refreshed tokens. It is waited for before they are used; if it
    ///     throws they are not, and the next request asks it again.
    ///   - unauthenticatedHandler: Told once that the tokens are not valid any more and could not be refreshed: the
    ///     server's error, whether the device lives on (a soft logout: log in with its id and keep what is stored), and
    ///     whether it was the refresh token that was refused. On ``completionQueue``.
    public init(
        credentials: MXCredentials, unrecognizedCertificateHandler: (@Sendable (Data) -> Bool)? = nil,
        persistentTokenDataHandler: (@Sendable (MXCredentials) async throws -> Void)? = nil,
        unauthenticatedHandler: (@Sendable (MXError, Bool, Bool) -> Void)? = nil,
        options: MXRestClientOptions = MXRestClientOptions()
    ) {
        let completions = CompletionLine()
        self.completions = completions
        homeserver = Homeserver(
            credentials.homeServer ?? "", options: options, certificateHandler: unrecognizedCertificateHandler)
        var handlers = AccessTokens.Handlers()
        handlers.persist = persistentTokenDataHandler
        if let unauthenticatedHandler {
            handlers.unauthenticated = { error, isSoftLogout, isRefreshTokenAuth in
                completions.add { unauthenticatedHandler(error, isSoftLogout, isRefreshTokenAuth) }
            }
        }
        tokens = AccessTokens(
            credentials.accessToken == nil ? nil : credentials, homeserver: homeserver, handlers: handlers)
    }

    /// Where callbacks arrive, one after the other: the main queue unless set. Nothing runs it by itself on Linux: a program needs an async
    /// `main`, `dispatchMain()` or a run loop.
    public var completionQueue: DispatchQueue {
        get { completions.queue }
        set { completions.queue = newValue }
    }

    /// Who is logged in, with the newest tokens; nil if nobody is.
    public var credentials: MXCredentials? { tokens.credentials }

    /// What the answer to the last login or registration of this client says that was not asked for: another user, or another
    /// server. A session of this client logs it.
    public var loginWarnings: [MXLoginWarning] { lastLoginWarnings.withLock { $0 } }

    /// The homeserver's base URL, without a slash at its end.
    public var homeserverURL: String { homeserver.url }

    /// Told of refreshed tokens after they were saved. For a session's delegate.
    package func setRefreshedTokensHandler(_ handler: (@Sendable (MXCredentials) -> Void)?) {
        tokens.setRefreshedHandler(handler)
    }

    /// Calls back when the tokens are dead: before whoever has met that gets the error, or now if it is so already. Beside
    /// the handler that the client was made with.
    package func observeUnauthenticated(_ observer: @escaping @Sendable (TokenMachine.Ending) -> Void) {
        tokens.observeUnauthenticated(observer)
    }

    /// The user whose calls these are.
    func userId() throws -> String {
        guard let userId = credentials?.userId else {
            throw MatrixError(.unauthenticated, "nobody is logged in; this call needs a user")
        }
        return userId
    }
}
