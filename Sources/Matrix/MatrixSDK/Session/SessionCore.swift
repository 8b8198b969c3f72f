import Basics
import CurlTransport
import Dispatch
import Logging
import MatrixProtocol
import PeerLog
import Realtime

/// Connects an account to the network and the application.
///
///     poll ──► answer ──► account: model and store ──► listeners, bindings
///
/// An answer is delivered after the ``StoredAccount`` has stored it.
final class SessionCore: HubOwner {
    struct State: Sendable {
        var state = MXSessionState.initialised
        var driver: SyncDriver?
        var filterId: String?
        /// The callers that wait for the first sync.
        var starts: [UUID: AsyncThrowingStream<Never, any Error>.Continuation] = [:]
        var pausing = Pausing()
        var audience = Audience()
        /// The time from which gaps are dated; `nil` before the first sync of this session.
        var lastSync: Date?
        /// Why the login has ended permanently, and the store was erased.
        var ending: MXError?
        /// The token to catch up from, earlier than the stored one; see ``MXSession/catchUp(since:from:)``.
        var catchUpToken: String?
        var refusedPoint = RefusedPoint()
        /// Whether the log already mentions rooms with invalid ids from the homeserver.
        var hasToldOfRefusedRooms = false

        /// Whether the session syncs by itself.
        var isRunning: Bool { driver != nil && state != .paused && state != .backgroundSyncInProgress }
    }

    struct Pausing: Sendable {
        var preventers = 0
        /// Whether ``MXSession/pause()`` waits for the last preventer.
        var isWanted = false

        /// - Returns: Whether the session must pause now.
        mutating func release() -> Bool {
            preventers = max(preventers - 1, 0)
            return preventers == 0 && isWanted
        }
    }

    /// Receivers in addition to those of the hub.
    struct Audience: Sendable {
        var listeners = EventListeners()
        /// Called on the completion queue.
        var observers: [UUID: @Sendable (SessionReport) -> Void] = [:]
        var delegate: WeakDelegate?
    }

    struct WeakDelegate: Sendable {
        weak var delegate: (any MXSessionDelegate)?
    }

    let rest: MXRestClient
    let options: MXSessionOptions
    let userId: String
    let state = Lock(State())
    let hub: EventHub<SourceNotice>
    let account = StoredAccount()
    let session = Lock(WeakSession())
    let directRoomChanges = Turns()
    /// `nil` if the session does not encrypt.
    let cryptoDriver: CryptoDriver?
    /// The turns of calls that begin and end things, in the order they are made.
    let life = Turns()

    struct WeakSession: Sendable {
        weak var session: MXSession?
    }

    init(rest: MXRestClient, options: MXSessionOptions) {
        self.rest = rest
        self.options = options
        userId = rest.credentials?.userId ?? ""
        hub = EventHub(options.callbackQueue, capacity: CallbackLoad(count: 1024, byteCount: 16 << 20))
        cryptoDriver = options.enableCrypto ? CryptoDriver() : nil
        cryptoDriver?.attach(to: self)
        for warning in rest.loginWarnings {
            options.logger?.report(
                .warning, "the login is another one than was asked for", ["matrix.reason": "\(warning.description)"])
        }
    }

    // MARK: Store

    func setStore(_ store: any MXStore) throws(MatrixError) {
        guard !userId.isEmpty else {
            throw MatrixError(.unauthenticated, "the session has no user: log in first")
        }
        guard currentState != .closed else { throw .sessionClosed }
        if let ending = state.withLock({ $0.ending }) {
            _ = try store.open(userId: userId, deviceId: rest.credentials?.deviceId)
            try store.deleteAllData()
            throw MatrixError(.unauthenticated, "the login is over, so nothing is kept: \(ending)")
        }
        let (reason, notices) = try account.open(
            store, userId: userId, deviceId: rest.credentials?.deviceId, encryption: encryption
        ) {
            state.withLock { $0.state == .initialised }
        }
        setState(.storeDataReady)
        if !notices.isEmpty { tell(notices.map { .encryption($0) }) }
        if let reason { tellOfFailure("the store was rebuilt", MatrixError(.store, reason), retryAfter: nil) }
    }

    private var encryption: StoredAccount.Encryption {
        guard options.enableCrypto, options.beginsEncryption else { return .ifBegun }
        return .always(inMemory: options.keepsKeysInMemory)
    }

    // MARK: Running

    /// - Parameter turn: The turn in which to begin. It ends before the first sync does.
    func start(filterId: String?, in turn: Turns.Turn) async throws {
        let first = try await turn.run {
            try Task.checkCancellation()
            return try begin(filterId: filterId)
        }
        for try await _ in first {}
        try Task.checkCancellation()
    }

    /// - Returns: A stream that ends after the first sync.
    @discardableResult
    func begin(filterId: String?) throws -> AsyncThrowingStream<Never, any Error> {
        let isNew = state.withLock { $0.state == .initialised && $0.ending == nil }
        if isNew, !account.isOpen { try setStore(MXMemoryStore()) }
        let driver = try makeDriver(filterId: filterId)
        if isNew { try checkBackup() }
        let untold = account.takeUntold()
        if !untold.isEmpty { tell(untold.map { .toDevice($0) }) }
        let (first, start) = AsyncThrowingStream<Never, any Error>.makeStream()
        let id = UUID()
        start.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.starts.removeValue(forKey: id) }  // released after the lock
        }
        // Runs after a pause already sent to the driver, which ends only the starts before it, not this one.
        NetworkActor.execute {
            let isCurrent = self.state.withLock { state in
                guard state.driver === driver else { return false }
                state.starts[id] = start
                return true
            }
            guard isCurrent else { return start.finish(throwing: MatrixError.sessionClosed) }
            driver.hold(self.hub.isHeldBySinks)
            driver.start()
        }
        return first
    }

    func pause() {
        let isPrevented = state.withLock { state in
            // A session that is not running has no pause to request.
            state.pausing.isWanted = state.pausing.preventers > 0 && state.isRunning
            return state.pausing.isWanted
        }
        if isPrevented {
            setState(.pauseRequested)
        } else {
            withDriver { $0.pause() }
        }
    }

    func logout() async throws {
        let wasRunning = state.withLock { $0.isRunning }
        // A sync that meets the dead tokens would be reported as a failure.
        withDriver { $0.pause() }
        do {
            try await rest.logout()
        } catch {
            if wasRunning { _ = try? begin(filterId: nil) }
            throw error
        }
    }

    /// Runs `body` now, or after earlier calls that have not begun.
    func inOrder(_ body: @escaping @Sendable (SessionCore) -> Void) {
        guard let turn = life.takeUnlessIdle() else { return body(self) }
        Task { try await turn.run { body(self) } }
    }

    private func makeDriver(filterId: String?) throws -> SyncDriver {
        if let ending = state.withLock({ $0.ending }) { throw ending }
        guard let hasSynced = account.model({ $0.syncToken != nil }) else { throw MatrixError.sessionClosed }
        let driver = state.withLock { state -> SyncDriver? in
            // Nothing would close a driver created after the end.
            guard state.state != .closed else { return nil }
            state.filterId = filterId ?? state.filterId
            state.pausing.isWanted = false
            if let driver = state.driver { return driver }
            var configuration = SyncLoop.Configuration()
            configuration.pollTimeout = options.pollTimeout.bounded
            configuration.errorDelay = options.errorDelay
            configuration.connection.connectTimeout = options.initialSyncTimeout
            configuration.connection.pongTimeout = options.pongTimeout
            configuration.connection.reconnectPolicy = options.reconnectPolicy
            let loop = SyncLoop(
                configuration: configuration, state: state.state, hasSynced: hasSynced,
                seed: .random(in: .min ... .max))
            let driver = SyncDriver(loop) { [weak self] poll, progressed in
                guard let self else { return .failed(.unreachable, MatrixError.sessionClosed) }
                return await sync(poll, setsPresence: options.setsPresence, progressed)
            } tell: { [weak self] report in
                self?.tell(report)
            }
            state.driver = driver
            return driver
        }
        guard let driver else { throw MatrixError.sessionClosed }
        return driver
    }

    func withDriver(_ body: @escaping @Sendable @NetworkActor (SyncDriver) -> Void) {
        guard let driver = state.withLock({ $0.driver }) else { return }
        NetworkActor.execute { body(driver) }
    }

    private func tell(_ report: SyncDriver.Report) {
        switch report {
        case .changed(let new): setState(new)
        case .synced: finishStarts(with: nil)
        case .failed(let error, let delay):
            tellOfFailure("the sync with the homeserver failed", error, retryAfter: delay)
            // A start that cannot succeed is over; any other continues in the background.
            finishStarts(with: error)
        case .held(let message):
            options.logger?.report(.warning, "\(message)")
            publish(SourceFailure(message, willRetry: true))
        case .resumed(let message):
            options.logger?.report(.notice, "events are asked for again: \(message)")
            publish(SourceFailure(message, willRetry: true))
        }
    }

    /// Call this after delivering the cause.
    func finishStarts(with error: (any Error)?) {
        let waiting = state.withLock { state in
            defer { state.starts = [:] }
            return Array(state.starts.values)
        }
        for start in waiting { start.finish(throwing: error) }
    }

    var currentState: MXSessionState { state.withLock { $0.state } }

    /// - Parameter old: The state required for the change; `nil` for any.
    /// - Returns: Whether the state has changed.
    @discardableResult
    func setState(_ new: MXSessionState, from old: MXSessionState? = nil) -> Bool {
        let before: MXSessionState? = state.withLock { state in
            guard state.state != new, state.state != .closed, old == nil || state.state == old else { return nil }
            defer { state.state = new }
            return state.state
        }
        guard let before else { return false }
        publish(new)
        // Retries requests that failed together with the syncs.
        if new == .running, before == .homeserverNotReachable || before == .syncError { cryptoDriver?.retryNow() }
        onQueue { core in
            core.report(.stateChanged)
            core.post(.mxSessionStateDidChange)
        }
        // The end of a background sync does not end a start made meanwhile.
        let isEnd = new == .closed || new == .paused && old == nil
        if isEnd { finishStarts(with: MatrixError.sessionClosed) }
        return true
    }

    private func tellOfFailure(_ what: String, _ error: any Error, retryAfter: Duration?) {
        publish(
            SourceFailure(
                "\(what): \(error)", willRetry: retryAfter != nil, retryAfter: retryAfter, underlying: error))
        onQueue { core in
            core.report(.failed(error, retryAfter: retryAfter))
            guard let session = core.session.withLock({ $0.session }) else { return }
            core.withDelegate { $0.session(session, didReceiveError: error) }
        }
    }

    // MARK: One answer

    /// - Parameter progressed: Called when the request is made, whenever part of the answer arrives, and when all of it
    ///   has.
    func sync(
        _ poll: SyncLoop.Poll, setsPresence: Bool, _ progressed: @escaping @Sendable (SyncLoop.Stage) -> Void = { _ in }
    ) async -> SyncDriver.SyncOutcome {
        var (since, filterId): (String?, String?)
        do {
            try commitWaiting()
            let stored = account.model { $0.syncToken } ?? nil
            let isDoubtful = state.withLock { $0.refusedPoint.isDoubtful }
            let catchUpToken = stored == nil || isDoubtful ? nil : state.withLock { $0.catchUpToken }
            (since, filterId) = (isDoubtful ? nil : catchUpToken ?? stored, state.withLock { $0.filterId })
            progressed(.underWay)
            let bytes = try await rest.sync(
                since: since, timeout: poll.serverTimeout, filter: filterId ?? filter(isFirst: since == nil),
                setPresence: setsPresence ? nil : .offline,
                needsFreshConnection: poll.needsFreshConnection,
                patience: since == nil ? options.initialSyncTimeout : .seconds(90),
                onProgress: { _ in progressed(.underWay) })
            progressed(.received)
            try Task.checkCancellation()
            guard let response = try? SyncResponse(bytes) else {
                return .failed(
                    .unreachable, MatrixError(.badResponse, "the homeserver's answer to a sync cannot be read"))
            }
            if response.malformedParts > 0 {
                options.logger?.report(
                    .debug, "parts of a sync's answer are malformed and were left out",
                    ["matrix.malformed": "\(response.malformedParts)"])
            }
            if response.refusedRooms > 0, isFirstRefusalOfRooms() {
                options.logger?.report(
                    .warning, "the homeserver gave rooms whose ids are none, which are left out: this is said once",
                    ["matrix.rooms": "\(response.refusedRooms)"])
            }
            if isDoubtful { try forgetSyncToken() }
            try take(response, tellsKnown: catchUpToken != nil)
            return .applied
        } catch let error as MXError {
            // The server may not know the catch-up token, but still know the stored one.
            if error.refusesSyncToken, stopsCatchingUp() {
                return await sync(poll, setsPresence: setsPresence, progressed)
            }
            return failed(error, since: since, filterId: filterId)
        } catch let error as MatrixError {
            switch error.code {
            case .timedOut: return .failed(.timedOut, error)
            case .store: return .failed(.notStored, error)
            case .unauthenticated: return .failed(.unauthenticated, error)
            case .network, .http, .badResponse, .cancelled, .tooLarge, .invalidArgument, .encryptionNotAvailable,
                .identityChanged, .interactionRequired, .roomNotFound, .eventNotFound, .file:
                return .failed(error.isRetryable ? .unreachable : .refused(retryAfter: nil), error)
            }
        } catch {
            return .failed(.unreachable, error)
        }
    }

    /// Decrypted events enter here, between the answer and the model.
    private func take(_ response: SyncResponse, tellsKnown: Bool) throws {
        let wantsAllStates = state.withLock { !$0.audience.listeners.isEmpty }
        let committed: [StoredAccount.Uncommitted]
        do {
            committed = try account.apply(response, wantsAllStates: wantsAllStates, tellsKnown: tellsKnown)
        } catch {
            // The store takes it later, and only then it is delivered.
            if account.hasUncommitted { state.withLock { $0.catchUpToken = nil } }
            throw error
        }
        tell(stored: committed)
        cryptoDriver?.wake()
        state.withLock { state in
            (state.catchUpToken, state.lastSync) = (nil, Date())
            state.refusedPoint.forget()
        }
    }

    private func isFirstRefusalOfRooms() -> Bool {
        state.withLock { state in
            defer { state.hasToldOfRefusedRooms = true }
            return !state.hasToldOfRefusedRooms
        }
    }

    /// Stores the applied answers, then delivers them.
    private func commitWaiting() throws(MatrixError) {
        while account.hasUncommitted { tell(stored: try account.commitNext()) }
    }

    func tell(stored committed: [StoredAccount.Uncommitted]) {
        for committed in committed {
            let token = committed.applied.changes.syncToken
            tell(committed.applied.notices, rooms: committed.rooms ?? [:], isSync: token != nil)
            if let token { publish(reached: token) }
        }
    }

    private func filter(isFirst: Bool) -> String {
        let lazy = options.lazyLoadsMembers
        let limit = isFirst ? options.initialTimelineLimit ?? options.timelineLimit : options.timelineLimit
        return #"{"room":{"state":{"lazy_load_members":\#(lazy)},"timeline":{"limit":\#(limit),"#
            + #""lazy_load_members":\#(lazy),"unread_thread_notifications":true}}}"#
    }

    // MARK: The end

    func close() {
        setState(.closed)
        cryptoDriver?.close()
        account.close { stop() }
    }

    /// Handles the homeserver's rejection of the tokens. Unless the device still exists, deletes everything known about
    /// the account (client-server specification, "Soft logout").
    func loginEnded(_ ending: TokenMachine.Ending) {
        // The pending poll would keep waiting; the next one gets the error.
        defer { withDriver { $0.retryIfRunning() } }
        guard !ending.isSoftLogout else { return }
        let isFirst = state.withLock { state in
            defer { state.ending = state.ending ?? ending.error }
            return state.ending == nil
        }
        guard isFirst else { return }
        do {
            try account.erase()
        } catch {
            tellOfFailure("the login is over, but what is stored cannot be deleted", error, retryAfter: nil)
        }
        onQueue { $0.report(.stateChanged) }
    }

    private func stop() {
        let old = state.withLock { state -> State in
            let old = state
            state.audience.listeners = EventListeners()
            state.driver = nil
            state.starts = [:]
            return old
        }
        // Starts that arrived after the state changed.
        for start in old.starts.values { start.finish(throwing: MatrixError.sessionClosed) }
        NetworkActor.execute { [hub, driver = old.driver] in
            driver?.close()
            hub.close()
        }
    }
}

extension MatrixError {
    static let sessionClosed = MatrixError(.cancelled, "the session was paused or closed")
    static let storeIsSet = MatrixError(
        .invalidArgument, "the session has a store already: it is set once, before the start")
}
