import Basics
import Dispatch
package import JSONBytes
import MatrixProtocol
public import Realtime

/// An account that is kept up to date: its rooms, their messages, who is there.
///
///     let session = MXSession(credentials: credentials)
///     try session.setStore(MXFileStore())        // rooms and messages can be read from here on
///     try await session.start()                  // returns after the first sync
///     for room in session.rooms { print(room.displayName) }
///
/// It polls the homeserver until it is paused, closed, or let go of, and survives every failure of the network: it tries
/// again by itself, and its ``state`` says how things stand. Calls take effect in the order in which they are made, except
/// that ``close()`` ends those before it which have not begun. Callbacks and listeners are called on the REST client's
/// completion queue, in one order: the callback of a call comes after the events that the call brought. The delegate is
/// called on the main thread. May be used from any thread.
public final class MXSession: Sendable, MXSessionRooms {
    /// The calls of the homeserver.
    public let matrixRestClient: MXRestClient
    let core: SessionCore

    /// - Parameter matrixRestClient: Of somebody who is logged in.
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

    /// For somebody who is logged in.
    public convenience init(credentials: MXCredentials, options: MXSessionOptions = MXSessionOptions()) {
        self.init(matrixRestClient: MXRestClient(credentials: credentials), options: options)
    }

    deinit {
        core.close()
    }

    // MARK: What it is

    /// What it is doing.
    public var state: MXSessionState { core.currentState }

    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Who is logged in, with the newest tokens.
    public var credentials: MXCredentials! { matrixRestClient.credentials }

    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The user; nil if nobody is logged in.
    public var myUserId: String! { core.userId.isEmpty ? nil : core.userId }

    /// Told what goes wrong. Held weakly: keep a reference to it. One that is gone when it would be told something, or right
    /// after it was set, gets a warning in ``MXSessionOptions/logger``, or without one in the log that swift-log is set up for.
    @MainActor public var delegate: (any MXSessionDelegate)? {
        get { core.state.withLock { $0.audience.delegate }?.delegate }
        set { core.setDelegate(newValue) }
    }

    // MARK: Life

    /// Opens the store. Rooms and messages that it holds can be read from then on, without a network. Once only, before the
    /// start; without it the session keeps everything in memory.
    ///
    /// - Throws: `MatrixError` of code `store` if it cannot be opened, or is used by another process.
    public func setStore(_ store: any MXStore) throws(MatrixError) {
        guard core.life.isIdle else { throw .storeIsSet }
        try core.setStore(store)
    }

    /// The callback form's: the turn is taken when this returns.
    package func queuedStore(_ store: any MXStore) -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        return { [core] in try await turn.runWhileHeld { try core.setStore(store) } }
    }

    /// Begins to sync, or tries again at once if a retry is waited for. Returns after the first sync was applied.
    ///
    /// - Parameter filterId: A filter that is stored with the server, for this and all later syncs; nil is that of an earlier
    ///   start, else the session's own.
    /// - Throws: Why that first sync failed, or `MatrixError` of code `cancelled` if the session was paused or closed
    ///   meanwhile, or the task cancelled. Unless the login is refused the session goes on trying all the same.
    public func start(withSyncFilterId filterId: String? = nil) async throws {
        try await queuedStart(withSyncFilterId: filterId)()
    }

    /// As ``queuedStore(_:)``.
    package func queuedStart(withSyncFilterId filterId: String? = nil) -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        return { try await self.core.start(filterId: filterId, in: turn) }
    }

    /// Stops syncing; nothing new comes until ``resume()``. While something needs the session to run, it only asks for
    /// the pause: see ``retainPreventPause()``.
    public func pause() { core.inOrder { $0.pause() } }

    /// Syncs again. Returns at once; ``start(withSyncFilterId:)`` does the same and waits for the first sync.
    public func resume() {
        let start = queuedStart()
        _ = RequestOperation.start { try? await start() }
    }

    /// One sync of a session that is paused, and stays so. Its ``state`` is `backgroundSyncInProgress` meanwhile, and the
    /// user does not show as online.
    ///
    /// - Parameter timeout: Seconds in which it must be done.
    /// - Throws: `MatrixError` of code `invalidArgument` if the session is not paused, of `timedOut` if there was no answer in
    ///   time; what the server says.
    public func backgroundSync(timeout: TimeInterval = 30) async throws {
        try await queuedBackgroundSync(timeout: timeout)()
    }

    /// As ``queuedStore(_:)``.
    package func queuedBackgroundSync(timeout: TimeInterval) -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        let timeout: Duration = min(.bounded(seconds: timeout) ?? .seconds(30), .seconds(86_400))
        return { try await self.core.backgroundSync(timeout: timeout, in: turn) }
    }

    /// One sync instead of a start, for programs that ask once and end: what is new, or everything if nothing is stored.
    ///
    /// - Throws: Why it failed. It is not tried again.
    package func syncOnce() async throws { try await core.syncOnce() }

    /// The homeserver says that a room is encrypted, whether or not a sync has said so.
    ///
    /// - Parameter content: Of its `m.room.encryption`; nil for the usual one.
    package func noteEncryption(of roomId: String, _ content: JSONView?) throws(MatrixError) {
        try core.noteEncryption(of: roomId, content)
    }

    /// Makes keys for a device that has none, and uploads them.
    package func beginEncryption() async {
        core.cryptoDriver?.wake()
        await settleEncryption()
    }

    /// Returns when what encryption has to send is sent, or after five seconds, and what has come of it is told: for programs
    /// that end. The next one goes on.
    package func settleEncryption() async {
        await core.cryptoDriver?.settle(until: .now + .seconds(5))
        await finishTelling()
    }

    /// Returns when all has been told that there is to tell now: for programs that end.
    package func finishTelling() async { await core.finishTelling() }

    /// Events of a room as the server has them, with what is inside as far as the keys are here.
    package func decrypted(_ events: [MXEvent], in roomId: String) throws(MatrixError) -> [MXEvent] {
        try core.decrypted(events, in: roomId)
    }

    /// Whether there are keys: not in a copy of a store that another process has.
    package var hasKeys: Bool { core.account.encrypts }

    /// Keeps ``pause()`` from taking effect until ``releasePreventPause()`` was called as often.
    public func retainPreventPause() { core.state.withLock { $0.pausing.preventers += 1 } }

    /// Takes back one ``retainPreventPause()``; a pause that was asked for meanwhile happens with the last.
    public func releasePreventPause() {
        if core.state.withLock({ $0.pausing.release() }) { pause() }
    }

    /// Gives up the request that is under way and asks anew at once.
    public func reconnect() { core.inOrder { core in core.withDriver { $0.reconnect() } } }

    /// Ends the session for good. The store keeps what it has.
    public func close() { core.close() }

    /// Pauses and logs out: the tokens are dead then. Close the session, and delete its store. When the homeserver ends the
    /// login for good, the session deletes the store itself.
    ///
    /// - Throws: Why the homeserver could not be told. A session that was running goes on.
    public func logout() async throws { try await queuedLogout()() }

    /// As ``queuedStore(_:)``.
    package func queuedLogout() -> @Sendable () async throws -> Void {
        let turn = core.life.take()
        return { try await turn.runWhileHeld { try await self.core.logout() } }
    }

    // MARK: Events

    /// Calls back for each event of every room, in order: those of timelines, typing and receipts, account data, presence.
    /// Those of a first sync are history, and are read from the rooms.
    ///
    /// - Returns: What ``removeListener(_:)`` takes.
    @discardableResult
    public func listenToEvents(
        _ types: [MXEventType]? = nil, _ block: @escaping (MXEvent, MXTimelineDirection, MXRoomState?) -> Void
    ) -> Any {
        let box = EventListeners.Handler(call: block)
        return core.state.withLock { $0.audience.listeners.add(types, box.call) }
    }

    /// Ends the calls of a listener; also from within one.
    public func removeListener(_ listener: Any) {
        guard let listener = listener as? MXEventListener else { return }
        _ = core.state.withLock { $0.audience.listeners.remove(listener) }
    }
}

/// A session as a source of events for the bindings of a `Pusher` client. ``MatrixEventName`` lists the names.
extension MXSession: RealtimeEventSource {
    /// `matrix:`.
    public var channelPrefix: String { "matrix:" }

    /// See `RealtimeEventSource`.
    public func attach(_ sink: any RealtimeEventSink) { core.attach(sink) }

    /// See `RealtimeEventSource`.
    public func detach(_ sink: any RealtimeEventSink) { core.detach(sink) }

    /// Polls no more as long as `isHeld`.
    public func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) { core.hold(isHeld, for: sink) }
}
