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
/// In the session's folder are the credentials, in a file that only its owner can read, and the rooms and messages that
/// are known. One service in one process is logged in with a folder at a time; another is refused before it has sent
/// anything. When the homeserver ends the login for good, all of it is deleted, but after a soft logout it stays: log in
/// again. A call that fails has changed nothing here.
///
/// Messages of encrypted rooms are encrypted and decrypted: the keys lie with the rooms. ``session`` has what else there is to
/// decide, such as verification and backup: see <doc:Encryption>.
///
/// Everything arrives on the main actor. On Linux nothing runs that by itself: a program needs an async `main`,
/// `dispatchMain()` or a run loop.
@MainActor
public final class MXMatrixService: MatrixServiceProtocol {
    /// One for programs that have one account, with the default options. It is nothing special: others can be beside it.
    public static let shared = MXMatrixService()

    enum Phase {
        case uninitialised
        case loggedOut(ServicePlace)
        case loggedIn(ServicePlace, ServiceAccount)
    }

    /// One at a time, in the order of the calls: there are never two sessions, nor half of one.
    let accountTurns = Turns()
    var phase = Phase.uninitialised
    private let connection = CurrentValueSubject<MatrixConnectionState, Never>(.disconnected)
    let sessionOptions: MXSessionOptions
    let clientOptions: MXRestClientOptions

    /// Called with each message that comes while we sync, our own included, and again when one changes.
    public var onMessageReceived: ((MatrixMessage) -> Void)?
    /// Called with a room when something of it has changed.
    public var onRoomUpdated: ((MatrixRoom) -> Void)?
    /// Called with a room's id and all who are typing there, without ourselves, whenever that changes.
    public var onTypingIndicator: ((_ roomId: String, _ userIds: [String]) -> Void)?

    /// A service that knows no homeserver yet.
    ///
    /// - Parameter sessionOptions: The session encrypts whatever they say of that.
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

    /// Whether what is shown is up to date.
    public var connectionState: MatrixConnectionState { connection.value }

    /// ``connectionState``, now and whenever it changes.
    public var connectionStatePublisher: AnyPublisher<MatrixConnectionState, Never> {
        connection.eraseToAnyPublisher()
    }

    /// Who is logged in.
    public var userId: String? { account?.session.myUserId }

    /// The session below, for what the service has no method for. Nil when nobody is logged in.
    public var session: MXSession? { account?.session }

    var account: ServiceAccount? {
        if case .loggedIn(_, let account) = phase { account } else { nil }
    }

    /// - Throws: If nobody is logged in.
    func knownAccount() throws(MatrixServiceError) -> ServiceAccount {
        switch phase {
        case .uninitialised: throw .notInitialized
        case .loggedOut: throw .notLoggedIn
        case .loggedIn(_, let account): return account
        }
    }

    /// - Throws: If nobody is logged in, or the homeserver does not take the login any more.
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

    /// Publishes how things stand, if that is new.
    func updateConnectionState() {
        let new = account?.connectionState ?? .disconnected
        if connection.value != new { connection.send(new) }
    }
}

/// Which homeserver, and where its account is kept.
struct ServicePlace: Sendable {
    let homeserver: String
    let folder: URL

    /// Where the store's folders lie.
    var storeFolder: URL { folder.appending(path: "store") }
}

/// Somebody who is logged in.
@MainActor
final class ServiceAccount {
    let session: MXSession
    let store: MXFileStore
    let file: CredentialsFile
    /// As they were when the session was made.
    let credentials: MXCredentials
    /// Whether the application wants to follow what happens.
    var isSyncing = false
    /// The homeserver does not take the tokens any more; what is kept here after that can still be read.
    var needsLogin = false
    /// Why the sync does not go on by itself.
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

    /// Nothing more comes of it, and nothing more is written.
    func end() {
        file.retire()
        session.close()
    }
}
