import Basics
import Dispatch
package import JSONBytes
import MatrixProtocol
public import Realtime

/// An account that is kept up to date: its rooms, their messages, its users.
///
///     let session = MXSession(credentials: credentials)
///     try session.setStore(MXFileStore())        // rooms and messages can be read from here on
///     try await session.start()                  // returns after the first sync
///     for room in session.rooms { print(room.displayName) }
///
/// It polls the homeserver until it is paused, closed or released. It survives every network failure: it retries
/// automatically and reports its ``state``. Calls take effect in the order you make them, except that ``close()`` ends
/// earlier calls that have not begun. Callbacks and listeners run on the REST client's completion queue, in a single
/// order: the callback of a call comes after the events that the call brought. The delegate is called on the main
/// thread. It may be used from any thread.
public final class MXSession: Sendable, MXSessionRooms {
    /// The client for the homeserver's API.
    public let matrixRestClient: MXRestClient
    let core: SessionCore

    /// - Parameter matrixRestClient: The client of a user who is logged in.
    public init(matrixRestClient: MXRestClient, options: MXSessionOptions = MXSessionOptions()) {
        self.matrixRestClient = matrixRestClient
        core = SessionCore(rest: matrixRestClient, options: options)
        core.session.withLock { $0.session = self }
        matrixRestClient.setRefreshedTokensHandler { [weak core] credentials in
            guard let core, let token = credentials.refreshToken,
                let session = core.session.withLock({ $0.session })
            else { return }
            core.withDelegate { $0.session(session, newRefreshToken: token) }
        }
        matrixRestClient.observeUnauthenticated { [weak core] ending in core?.loginEnded(ending) }
    }

    /// Creates a session for a user who is logged in.
    public convenience init(credentials: MXCredentials, options: MXSessionOptions = MXSessionOptions()) {
        self.init(matrixRestClient: MXRestClient(credentials: credentials), options: options)
    }

    deinit {
        core.close()
    }

    // MARK: State

    /// The current state.
    public var state: MXSessionState { core.currentState }

    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The credentials with the newest tokens.
    public var credentials: MXCredentials! { matrixRestClient.credentials }

    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The user; `nil` if no user is logged in.
    public var myUserId: String! { core.userId.isEmpty ? nil : core.userId }

    /// Receives the session's errors. Held weakly: keep a reference to it. If it is gone right after you set it, or
    /// when the session wants to call it, the session warns in ``MXSessionOptions/logger``, or by default in the log
    /// that swift-log is set up for.
    @MainActor public var delegate: (any MXSessionDelegate)? {
        get { core.state.withLock { $0.audience.delegate }?.delegate }
        set { core.setDelegate(newValue) }
    }

    // MARK: Life cycle

    /// Opens the store. From then on you can read the rooms and messages in it without a network. Call it once, before
    /// starting; without a store the session keeps everything in memory.
    ///
    /// - Throws: `MatrixError` with code `store` if the store cannot be opened, or another process uses it.
    public func setStore(_ store: any MXStore) throws(MatrixError) {
        guard core.life.isIdle else { throw .storeIsSet }
        try core.setStore(store)
    }

    /// Takes a turn at once, and returns the call to run in it, for the callback variant.
    package func queuedStore(_ store: any MXStore) -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        return { [core] in try await turn.runWhileHeld { try core.setStore(store) } }
    }

    /// Starts syncing, or retries at once if a retry is pending. Returns after the first sync is applied.
    ///
    /// - Parameter filterId: A filter stored on the server, for this and all later syncs; `nil` uses the filter of an
    ///   earlier start, or the session's own.
    /// - Throws: The error of that first sync, or `MatrixError` with code `cancelled` if the session was paused or
    ///   closed meanwhile, or the task was cancelled. Unless the login is refused, the session keeps retrying anyway.
    public func start(withSyncFilterId filterId: String? = nil) async throws {
        try await queuedStart(withSyncFilterId: filterId)()
    }

    /// See ``queuedStore(_:)``.
    package func queuedStart(withSyncFilterId filterId: String? = nil) -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        return { try await self.core.start(filterId: filterId, in: turn) }
    }

    /// Stops syncing; nothing new arrives until ``resume()``. While something needs the session to run, this only
    /// requests the pause: see ``retainPreventPause()``.
    public func pause() { core.inOrder { $0.pause() } }

    /// Resumes syncing. Returns at once; use ``start(withSyncFilterId:)`` to wait for the first sync.
    public func resume() {
        let start = queuedStart()
        _ = RequestOperation.start { try? await start() }
    }

    /// Syncs a paused session once. The session stays paused; meanwhile its ``state`` is `backgroundSyncInProgress`,
    /// and the user does not appear online.
    ///
    /// - Parameter timeout: The time limit in seconds.
    /// - Throws: `MatrixError` with code `invalidArgument` if the session is not paused, or `timedOut` if there was no
    ///   answer in time; the server's error.
    public func backgroundSync(timeout: TimeInterval = 30) async throws {
        try await queuedBackgroundSync(timeout: timeout)()
    }

    /// See ``queuedStore(_:)``.
    package func queuedBackgroundSync(timeout: TimeInterval) -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        let timeout: Duration = min(.bounded(seconds: timeout) ?? .seconds(30), .seconds(86_400))
        return { try await self.core.backgroundSync(timeout: timeout, in: turn) }
    }

    /// Syncs once instead of starting, for programs that ask once and exit. Fetches the news, or everything if the
    /// store is empty.
    ///
    /// - Throws: Why the sync failed. It is not retried.
    package func syncOnce() async throws { try await core.syncOnce() }

    /// Records that the homeserver reports a room as encrypted, whether or not a sync has said so.
    ///
    /// - Parameter content: The content of its `m.room.encryption`; `nil` for the usual one.
    package func noteEncryption(of roomId: String, _ content: JSONView?) throws(MatrixError) {
        try core.noteEncryption(of: roomId, content)
    }

    /// Generates keys for a device that has none, and uploads them.
    package func beginEncryption() async {
        core.cryptoDriver?.wake()
        await settleEncryption()
    }

    /// Waits until encryption has sent everything pending and its results are delivered, for at most five seconds. For
    /// programs about to exit; the next one continues.
    package func settleEncryption() async {
        await core.cryptoDriver?.settle(until: .now + .seconds(5))
        await finishTelling()
    }

    /// Waits until everything pending now is delivered, for programs about to exit.
    package func finishTelling() async { await core.finishTelling() }

    /// Returns room events as the server has them, decrypted where the keys are available.
    package func decrypted(_ events: [MXEvent], in roomId: String) throws(MatrixError) -> [MXEvent] {
        try core.decrypted(events, in: roomId)
    }

    /// Whether the session has keys. A copy of a store that another process uses has none.
    package var hasKeys: Bool { core.account.encrypts }

    /// Prevents ``pause()`` from taking effect until ``releasePreventPause()`` is called as many times.
    public func retainPreventPause() { core.state.withLock { $0.pausing.preventers += 1 } }

    /// Balances one ``retainPreventPause()``. The last one performs a pause requested in the meantime.
    public func releasePreventPause() {
        if core.state.withLock({ $0.pausing.release() }) { pause() }
    }

    /// Cancels the pending request and sends a new one at once.
    public func reconnect() { core.inOrder { core in core.withDriver { $0.reconnect() } } }

    /// Ends the session permanently. The store keeps its data.
    public func close() { core.close() }

    /// Pauses and logs out, which invalidates the tokens. Afterwards close the session, and delete its store. If the
    /// homeserver ends the login permanently, the session deletes the store itself.
    ///
    /// - Throws: Why the homeserver could not be notified. A session that was running continues.
    public func logout() async throws { try await queuedLogout()() }

    /// See ``queuedStore(_:)``.
    package func queuedLogout() -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        return { try await turn.runWhileHeld { try await self.core.logout() } }
    }

    // MARK: Events

    /// Calls back for each event of every room, in order: timeline events, typing and receipts, account data, presence.
    /// Events of a first sync are history; read them from the rooms.
    ///
    /// - Returns: The listener for ``removeListener(_:)``.
    @discardableResult
    public func listenToEvents(
        _ types: [MXEventType]? = nil, _ block: @escaping (MXEvent, MXTimelineDirection, MXRoomState?) -> Void
    ) -> Any {
        let box = EventListeners.Handler(call: block)
        return core.state.withLock { $0.audience.listeners.add(types, box.call) }
    }

    /// Removes a listener, even from within it.
    public func removeListener(_ listener: Any) {
        guard let listener = listener as? MXEventListener else { return }
        _ = core.state.withLock { $0.audience.listeners.remove(listener) }
    }
}

/// The session as an event source for the bindings of a `Pusher` client. ``MatrixEventName`` lists the names.
extension MXSession: RealtimeEventSource {
    /// `matrix:`.
    public var channelPrefix: String { "matrix:" }

    /// See `RealtimeEventSource`.
    public func attach(_ sink: any RealtimeEventSink) { core.attach(sink) }

    /// See `RealtimeEventSource`.
    public func detach(_ sink: any RealtimeEventSink) { core.detach(sink) }

    /// Suspends polling while `isHeld` is true.
    public func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) { core.hold(isHeld, for: sink) }
}
