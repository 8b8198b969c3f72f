import Basics
public import Dispatch
import MatrixProtocol

/// A client for the client-server API of a homeserver.
///
///     let client = MXRestClient(homeServer: url)
///     _ = try await client.login(username: "alice", password: password)
///     let eventId = try await client.sendTextMessage(toRoom: roomId, text: "hello")
///
/// Cancelling the task of a call cancels the HTTP request. Errors from the server are thrown as ``MXError``, all others
/// as ``MatrixError``. The module `SwiftMatrixSDK` adds a variant with a callback to each call.
///
/// When a server limits the rate, the client waits and retries; see ``MXRestClientOptions``. When the connection fails,
/// it retries repeatable requests (reading, and sending with a transaction id), and others only if no part of them was
/// sent. Access tokens are refreshed automatically, ahead of time or when the server asks for it.
public final class MXRestClient: Sendable {
    let homeserver: Homeserver
    let tokens: AccessTokens
    let encryptedRooms = EncryptedRooms()
    let lastLoginWarnings = Lock<[MXLoginWarning]>([])
    /// Delivers every callback.
    package let completions: CompletionLine

    /// Creates a client for calls that need no login, and for logging in.
    ///
    /// - Parameter unrecognizedCertificateHandler: Called on any thread with a server's certificate that no authority
    ///   vouches for, in DER form. Return `true` to trust exactly that certificate from then on. `nil` rejects it.
    public convenience init(
        homeServer: URL, unrecognizedCertificateHandler: (@Sendable (Data) -> Bool)? = nil,
        options: MXRestClientOptions = MXRestClientOptions()
    ) {
        var credentials = MXCredentials()
        credentials.homeServer = homeServer.absoluteString
        self.init(
            credentials: credentials, unrecognizedCertificateHandler: unrecognizedCertificateHandler, options: options)
    }

    /// Creates a client for a user who is logged in.
    ///
    /// - Parameters:
    ///   - unrecognizedCertificateHandler: As in ``init(homeServer:unrecognizedCertificateHandler:options:)``.
    ///   - persistentTokenDataHandler: Saves credentials with refreshed tokens. The client uses the tokens only after
    ///     it returns. If it throws, they are not used, and the next request calls it again.
    ///   - unauthenticatedHandler: Called once on ``completionQueue`` when the tokens are no longer valid and could not
    ///     be refreshed, with the server's error, whether the device still exists (a soft logout: log in with its id
    ///     and keep the stored data), and whether the refresh token was rejected.
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

    /// The queue on which callbacks arrive, one at a time. The default is the main queue, which does not run by itself
    /// on Linux: a program needs an async `main`, `dispatchMain()` or a run loop.
    public var completionQueue: DispatchQueue {
        get { completions.queue }
        set { completions.queue = newValue }
    }

    /// The credentials with the newest tokens; `nil` if no user is logged in.
    public var credentials: MXCredentials? { tokens.credentials }

    /// Unrequested results of this client's last login or registration: another user, or another server. A session of
    /// this client logs them.
    public var loginWarnings: [MXLoginWarning] { lastLoginWarnings.withLock { $0 } }

    /// The homeserver's base URL without a trailing slash.
    public var homeserverURL: String { homeserver.url }

    /// Sets the handler of saved, refreshed tokens, for a session's delegate.
    package func setRefreshedTokensHandler(_ handler: (@Sendable (MXCredentials) -> Void)?) {
        tokens.setRefreshedHandler(handler)
    }

    /// Adds an observer that is called when the tokens die: before the affected call gets its error, or at once if they
    /// are already dead. Independent of the handler passed to the initializer.
    package func observeUnauthenticated(_ observer: @escaping @Sendable (TokenMachine.Ending) -> Void) {
        tokens.observeUnauthenticated(observer)
    }

    func userId() throws -> String {
        guard let userId = credentials?.userId else {
            throw MatrixError(.unauthenticated, "nobody is logged in; this call needs a user")
        }
        return userId
    }
}
