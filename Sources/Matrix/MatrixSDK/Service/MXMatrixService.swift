import CurlTransport
public import LinuxCombine
import MatrixProtocol

/// A Matrix account as an application uses it: ``MatrixServiceProtocol`` on ``MXSession``.
///
///     let service = MXMatrixService()
///     try await service.initialize(homeserverURL: "https://example.org", sessionPath: folder)
///     if try await !service.restoreSession() {
///         try await service.loginWithPassword(username: "alice", password: password)
///     }
///     service.onMessageReceived = { print($0.sender.name, $0.body) }
///     try await service.startSync()
///     try await service.sendMessage(roomId: roomId, content: "Hello **world**")
///
/// The session's folder holds the credentials, in a file that only its owner can read, and the known rooms and
/// messages. Only one service in one process can be logged in with a folder at a time; another is refused before it has
/// sent anything. When the homeserver ends the login permanently, everything is deleted, but after a soft logout it
/// stays: log in again. A call that fails has changed nothing locally.
///
/// Messages of encrypted rooms are encrypted and decrypted; the keys are stored with the rooms. ``session`` provides
/// everything else, such as verification and backup: see <doc:Encryption>.
///
/// Everything arrives on the main actor, which does not run by itself on Linux: a program needs an async `main`,
/// `dispatchMain()` or a run loop.
@MainActor
public final class MXMatrixService: MatrixServiceProtocol {
    /// A service with the default options, for programs with one account. It is not special: you can create others.
    public static let shared = MXMatrixService()

    enum Phase {
        case uninitialised
        case loggedOut(ServicePlace)
        case loggedIn(ServicePlace, ServiceAccount)
    }

    /// Account changes, one at a time and in order: there are never two sessions, nor half of one.
    let accountTurns = Turns()
    var phase = Phase.uninitialised
    private let connection = CurrentValueSubject<MatrixConnectionState, Never>(.disconnected)
    let sessionOptions: MXSessionOptions
    let clientOptions: MXRestClientOptions

    /// Called with each message that arrives while syncing, including the user's own, and again when one changes.
    public var onMessageReceived: ((MatrixMessage) -> Void)?
    /// Called with a room when any part of it has changed.
    public var onRoomUpdated: ((MatrixRoom) -> Void)?
    /// Called with a room's id and all users who are typing there, excluding the user, whenever that changes.
    public var onTypingIndicator: ((_ roomId: String, _ userIds: [String]) -> Void)?

    /// Creates a service without a homeserver.
    ///
    /// - Parameter sessionOptions: Options of the session. It always encrypts, whatever they say.
    public init(
        sessionOptions: MXSessionOptions = MXSessionOptions(),
        clientOptions: MXRestClientOptions = MXRestClientOptions()
    ) {
        var options = sessionOptions
        options.enableCrypto = true
        self.sessionOptions = options
        self.clientOptions = clientOptions
    }

    // MARK: State

    /// Whether the data shown is up to date.
    public var connectionState: MatrixConnectionState { connection.value }

    /// Publishes ``connectionState``, now and whenever it changes.
    public var connectionStatePublisher: AnyPublisher<MatrixConnectionState, Never> {
        connection.eraseToAnyPublisher()
    }

    /// The user who is logged in.
    public var userId: String? { account?.session.myUserId }

    /// The underlying session, for everything the service has no method for. `nil` if no user is logged in.
    public var session: MXSession? { account?.session }

    var account: ServiceAccount? {
        if case .loggedIn(_, let account) = phase { account } else { nil }
    }

    /// - Throws: If no user is logged in.
    func knownAccount() throws(MatrixServiceError) -> ServiceAccount {
        switch phase {
        case .uninitialised: throw .notInitialized
        case .loggedOut: throw .notLoggedIn
        case .loggedIn(_, let account): return account
        }
    }

    /// - Throws: If no user is logged in, or the homeserver no longer accepts the login.
    func liveAccount() throws(MatrixServiceError) -> ServiceAccount {
        let account = try knownAccount()
        guard !account.needsLogin else { throw .notLoggedIn }
        return account
    }

    /// - Throws: Also if the account has no such room.
    func room(_ roomId: String) throws(MatrixServiceError) -> MXRoom {
        guard let room = try liveAccount().session.room(withRoomId: roomId) else { throw .roomNotFound }
        return room
    }

    func updateConnectionState() {
        let new = account?.connectionState ?? .disconnected
        if connection.value != new { connection.send(new) }
    }
}

struct ServicePlace: Sendable {
    let homeserver: String
    let folder: URL

    var storeFolder: URL { folder.appending(path: "store") }
}

@MainActor
final class ServiceAccount {
    let session: MXSession
    let store: MXFileStore
    let file: CredentialsFile
    /// The credentials when the session was created.
    let credentials: MXCredentials
    /// Whether the application wants to sync.
    var isSyncing = false
    /// Whether the homeserver no longer accepts the tokens. Local data that remains can still be read.
    var needsLogin = false
    /// Why the sync does not continue automatically.
    var failure: String?

    init(session: MXSession, store: MXFileStore, file: CredentialsFile, credentials: MXCredentials) {
        (self.session, self.store, self.file, self.credentials) = (session, store, file, credentials)
    }

    var connectionState: MatrixConnectionState {
        if let failure { return .error(failure) }
        guard isSyncing else { return .disconnected }
        return switch session.state {
        case .running: .connected
        case .closed: .disconnected
        case .initialised, .storeDataReady, .processingBackgroundSyncCache, .syncInProgress,
            .backgroundSyncInProgress, .homeserverNotReachable, .syncError, .initialSyncFailed, .paused,
            .pauseRequested:
            .connecting
        }
    }

    /// Ends the session, and prevents further writing.
    func end() {
        file.retire()
        session.close()
    }
}
