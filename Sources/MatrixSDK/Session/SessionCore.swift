import CurlTransport
import Dispatch
import Logging
import MatrixProtocol
import PeerLog
import Realtime
import Basics

/// Joins the model of an account to the network, the store and the application.
///
///     poll ──► answer ──► model ──► store ──► listeners, bindings
///
/// The model and the store's changes have one owner at a time: what is in the store is what the model has told. Everybody
/// else sees the model as it was told last.
final class SessionCore: HubOwner {
    struct State: Sendable {
        var state = MXSessionState.initialised
        /// Nil before the store is open, and after the session was closed. Changed in ``SessionCore/inTurn(_:)``; what is
        /// loaded into it beside may be lost.
        var model: SessionModel?
        /// Counts the models.
        var modelNumber = 0
        /// Called in ``SessionCore/inTurn(_:)``, or to read, and never with the lock held.
        var store: (any MXStore)?
        var rooms: [String: MXRoom] = [:]
        var listeners = EventListeners()
        /// Rooms that were created here with encryption: no sync may have said so yet.
        var encryptedRooms: Set<String> = []
        /// See ``Draft``.
        var uncommitted: [Uncommitted] = []
        /// See ``Draft``.
        var growth: [String: Int] = [:]
        var delegate: WeakDelegate?
        var filterId: String?
        var driver: SyncDriver?
        /// Waiting for the first sync.
        var starts: [UUID: CheckedContinuation<Void, any Error>] = [:]
        var pausePreventers = 0
        /// ``MXSession/pause()`` waits for the last of them.
        var isPauseWanted = false
        /// Called on the completion queue.
        var observer: (@Sendable (SessionReport) -> Void)?
        var waiters: [RoomWaiter] = []
        var lastWaiter = 0
        /// When each gap is dated from; nil before the first sync of this session.
        var lastSync: Date?
    }

    struct WeakDelegate: Sendable {
        weak var delegate: (any MXSessionDelegate)?
    }

    let rest: MXRestClient
    let options: MXSessionOptions
    let userId: String
    let state: Lock<State>
    let hub: EventHub<SourceNotice>
    let storeOwner = StoreOwner()
    let session = Lock(WeakSession())
    let directRoomChanges = Turns()

    struct WeakSession: Sendable {
        weak var session: MXSession?
    }

    init(rest: MXRestClient, options: MXSessionOptions) {
        self.rest = rest
        self.options = options
        userId = rest.credentials?.userId ?? ""
        state = Lock(State())
        hub = EventHub(options.callbackQueue, capacity: CallbackLoad(count: 1024, byteCount: 16 << 20))
    }

    // MARK: Store

    func setStore(_ store: any MXStore) throws(MatrixError) {
        guard !userId.isEmpty else {
            throw MatrixError(.unauthenticated, "the session has no user: log in first")
        }
        let reason = try storeOwner.run { () throws(MatrixError) in try open(store) }
        setState(.storeDataReady)
        if let reason { tellOfFailure("the store was begun anew", MatrixError(.store, reason), retryAfter: nil) }
    }

    /// - Returns: Why the store was begun anew, if it was.
    private func open(_ store: any MXStore) throws(MatrixError) -> String? {
        guard state.withLock({ $0.store == nil && $0.state == .initialised }) else {
            throw MatrixError(.invalidArgument, "the session has a store already: it is set once, before the start")
        }
        let stored = try store.open(userId: userId, deviceId: rest.credentials?.deviceId)
        var model = SessionModel(userId: userId, stored: stored, now: .now)
        // What was on its way when the last process ended has not arrived as far as anybody knows.
        let interrupted = model.failInterruptedMessages()
        if !interrupted.isEmpty {
            var changes = MXStoreChanges()
            changes.outgoing = interrupted
            do {
                try store.commit(changes)
            } catch {
                store.close()
                throw error
            }
        }
        let opened = model
        state.withLock { state in
            state.store = store
            state.model = opened
            state.modelNumber += 1
        }
        return stored.rebuildReason
    }

    // MARK: Running

    func start(filterId: String?) async throws {
        if state.withLock({ $0.store == nil && $0.state == .initialised }) { try setStore(MXMemoryStore()) }
        let driver = try makeDriver(filterId: filterId)
        let id = UUID()
        let isCancelled = Lock(false)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Behind a pause that is on its way to the driver: that one ends the starts before it, not this.
                NetworkActor.execute {
                    let failure = self.state.withLock { state -> (any Error)? in
                        guard !isCancelled.withLock({ $0 }) else { return CancellationError() }
                        guard state.driver === driver else { return MatrixError.sessionClosed }
                        state.starts[id] = continuation
                        return nil
                    }
                    if let failure { return continuation.resume(throwing: failure) }
                    driver.hold(self.hub.isHeldBySinks)
                    driver.start()
                }
            }
        } onCancel: {
            let start = state.withLock { state in
                isCancelled.withLock { $0 = true }
                return state.starts.removeValue(forKey: id)
            }
            start?.resume(throwing: CancellationError())
        }
    }

    private func makeDriver(filterId: String?) throws(MatrixError) -> SyncDriver {
        let driver = state.withLock { state -> SyncDriver? in
            state.filterId = filterId ?? state.filterId
            state.isPauseWanted = false
            if let driver = state.driver { return driver }
            guard let model = state.model else { return nil }
            var configuration = SyncLoop.Configuration()
            configuration.pollTimeout = options.pollTimeout.bounded
            configuration.connection.connectTimeout = options.initialSyncTimeout
            configuration.connection.pongTimeout = options.pongTimeout
            configuration.connection.reconnectPolicy = options.reconnectPolicy
            let loop = SyncLoop(
                configuration: configuration, state: state.state, hasSynced: model.syncToken != nil,
                seed: .random(in: .min ... .max))
            let driver = SyncDriver(loop) { [weak self] poll in
                guard let self else { return .failed(.unreachable, MatrixError.sessionClosed) }
                return await sync(poll, setsPresence: options.setsPresence)
            } tell: { [weak self] report in
                self?.tell(report)
            }
            state.driver = driver
            return driver
        }
        guard let driver else { throw .sessionClosed }
        return driver
    }

    func withDriver(_ body: @escaping @Sendable @NetworkActor (SyncDriver) -> Void) {
        guard let driver = state.withLock({ $0.driver }) else { return }
        NetworkActor.execute { body(driver) }
    }

    private func tell(_ report: SyncDriver.Report) {
        switch report {
        case .changed(let new): setState(new)
        case .synced: finishStarts(with: .success(()))
        case .failed(let error, let delay):
            // A start that cannot succeed is over; one that may goes on in the background.
            finishStarts(with: .failure(error))
            tellOfFailure("the sync with the homeserver failed", error, retryAfter: delay)
        case .held(let message):
            options.logger?.report(.warning, "no events are asked for", ["matrix.reason": "\(message)"])
            publish(SourceFailure(message, willRetry: true))
        case .resumed(let message):
            options.logger?.report(.notice, "events are asked for again", ["matrix.reason": "\(message)"])
            publish(SourceFailure(message, willRetry: true))
        }
    }

    func finishStarts(with result: Result<Void, any Error>) {
        let waiting = state.withLock { state in
            defer { state.starts = [:] }
            return Array(state.starts.values)
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    /// - Parameter old: Only if this is the state; nil for any.
    /// - Returns: Whether it has changed.
    @discardableResult
    func setState(_ new: MXSessionState, from old: MXSessionState? = nil) -> Bool {
        let isNew = state.withLock { state in
            guard state.state != new, state.state != .closed, old == nil || state.state == old else { return false }
            state.state = new
            return true
        }
        guard isNew else { return false }
        publish(new)
        // The end of a background sync is no end of a start that has come meanwhile.
        let isEnd = new == .closed || new == .paused && old == nil
        if isEnd { finishStarts(with: .failure(MatrixError.sessionClosed)) }
        onQueue { core in
            core.report(.stateChanged)
            core.post(.mxSessionStateDidChange)
        }
        return true
    }

    private func tellOfFailure(_ what: String, _ error: any Error, retryAfter: Duration?) {
        publish(
            SourceFailure(
                "\(what): \(error)", willRetry: retryAfter != nil, retryAfter: retryAfter, underlying: error))
        onQueue { core in
            core.report(.failed(error, willRetry: retryAfter != nil))
            guard let session = core.session.withLock({ $0.session }) else { return }
            core.withDelegate { $0.session(session, didReceiveError: error) }
        }
    }

    // MARK: One answer

    func sync(_ poll: SyncLoop.Poll, setsPresence: Bool) async -> SyncDriver.SyncOutcome {
        do {
            try commitWaiting()
            let since = state.withLock { $0.model?.syncToken }
            let bytes = try await rest.sync(
                since: since, timeout: poll.serverTimeout, filter: filter(isFirst: since == nil),
                setPresence: setsPresence ? nil : .offline,
                needsFreshConnection: poll.needsFreshConnection,
                patience: since == nil ? options.initialSyncTimeout : .seconds(90))
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
            try take(response)
            return .applied
        } catch let error as MXError {
            return await failed(error)
        } catch let error as MatrixError {
            switch error.code {
            case .timedOut: return .failed(.timedOut, error)
            case .store: return .failed(.notStored, error)
            case .unauthenticated: return .failed(.unauthenticated, error)
            case .network, .http, .badResponse, .cancelled, .tooLarge, .invalidArgument, .encryptionNotAvailable,
                .interactionRequired, .roomNotFound, .eventNotFound, .file:
                return .failed(error.isRetryable ? .unreachable : .refused(retryAfter: nil), error)
            }
        } catch {
            return .failed(.unreachable, error)
        }
    }

    private func failed(_ error: MXError) async -> SyncDriver.SyncOutcome {
        switch error.errcode {
        case kMXErrCodeStringUnknownToken, kMXErrCodeStringMissingToken: return .failed(.unauthenticated, error)
        case kMXErrCodeStringForbidden where error.status == 401: return .failed(.unauthenticated, error)
        default: break
        }
        // A server that does not know the point of its stream any more: everything is asked for anew.
        if error.status == 400, state.withLock({ $0.model?.syncToken != nil }) {
            try? change { model, _ in
                model.forgetSyncToken()
                return nil
            }
        }
        return .failed(.refused(retryAfter: error.retryAfter), error)
    }

    /// Where decrypted events enter: between the answer and the model.
    private func take(_ response: SyncResponse) throws {
        let wantsAll = state.withLock { !$0.listeners.isEmpty }
        let committed = try inTurn { draft throws(MatrixError) in
            try draft.commitChanges()
            let rooms = draft.rooms
            // An answer that cannot be applied as a whole changes nothing.
            var model = draft.model
            let applied = try model.apply(response, store: draft.store, now: .now) { roomId in
                wantsAll || rooms[roomId]?.liveTimeline.hasListeners == true
            }
            draft.model = model
            try draft.commit(applied)
        }.committed
        tell(committed)
        state.withLock { $0.lastSync = Date() }
    }

    /// Stores what has been applied, then tells of it.
    private func commitWaiting() throws(MatrixError) {
        while !state.withLock({ $0.uncommitted.isEmpty }) {
            tell(try inTurn { draft throws(MatrixError) in try draft.commitNext() }.committed)
        }
    }

    private func tell(_ committed: [Uncommitted]) {
        for committed in committed {
            let isSync = committed.applied.changes.syncToken != nil
            tell(committed.applied.notices, rooms: committed.rooms ?? [:], isSync: isSync)
        }
    }

    private func filter(isFirst: Bool) -> String {
        if let id = state.withLock({ $0.filterId }) { return id }
        let lazy = options.lazyLoadsMembers
        let limit = isFirst ? options.initialTimelineLimit ?? options.timelineLimit : options.timelineLimit
        return #"{"room":{"state":{"lazy_load_members":\#(lazy)},"timeline":{"limit":\#(limit),"#
            + #""lazy_load_members":\#(lazy)}}}"#
    }

    // MARK: The end

    func close() {
        setState(.closed)
        storeOwner.runLast { end() }
    }

    private func end() {
        let old = state.withLock { state -> State in
            let old = state
            state.model = nil
            state.store = nil
            state.rooms = [:]
            state.uncommitted = []
            state.listeners = EventListeners()
            state.driver = nil
            state.waiters = []
            state.starts = [:]
            return old
        }
        // Those that came after the state had changed.
        for start in old.starts.values { start.resume(throwing: MatrixError.sessionClosed) }
        failWaits(old.waiters)
        for room in old.rooms.values { room.close() }
        for waiting in old.uncommitted { for room in (waiting.rooms ?? [:]).values { room.close() } }
        NetworkActor.execute { [hub] in
            old.driver?.close()
            hub.close()
        }
        old.store?.close()
    }
}

extension MatrixError {
    static let sessionClosed = MatrixError(.cancelled, "the session was paused or closed")
}
