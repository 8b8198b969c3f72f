import Basics
import CurlTransport
import MatrixProtocol
import Realtime

/// Performs the orders of the ``SyncLoop``: makes requests, and reports to the session.
final class SyncDriver: Shell {
    /// Fetches, applies and stores an answer. Reports when the request is made, whenever part of the answer arrives,
    /// and when all of it has.
    typealias Sync =
        @Sendable (SyncLoop.Poll, _ progressed: @escaping @Sendable (SyncLoop.Stage) -> Void) async -> SyncOutcome

    /// The outcome of a sync, with the error to report.
    enum SyncOutcome: Sendable {
        case applied
        case failed(SyncLoop.Problem, any Error)
    }

    /// A report to the session, delivered in order.
    enum Report: Sendable {
        case changed(MXSessionState)
        case synced
        case failed(any Error, retryAfter: Duration?)
        /// Nothing has been requested for a long time because events are consumed too slowly.
        case held(String)
        /// Requests have resumed after ``held(_:)``.
        case resumed(String)
    }

    let driver: Driver<SyncLoop>
    private let sync: Sync
    private let tell: @Sendable (Report) -> Void
    @NetworkActor private var task: Task<Void, Never>?
    @NetworkActor private var borrowers: [CheckedContinuation<Void, Never>] = []
    @NetworkActor private var lastError: (any Error)?

    init(_ loop: SyncLoop, sync: @escaping Sync, tell: @escaping @Sendable (Report) -> Void) {
        driver = Driver(loop)
        self.sync = sync
        self.tell = tell
    }

    @NetworkActor
    func start() {
        watchNetwork()
        handle { loop, now in loop.start(now: now) }
        let state = peek { $0.state }
        tell(.changed(state))  // the session may have requested a pause
        // It is up to date already, and the next answer may take long.
        if state == .running { tell(.synced) }
    }

    /// Runs a sync between the loop's requests. While paused it runs at once, or after the cancelled request.
    @NetworkActor
    func once(_ sync: @escaping @Sendable () async -> SyncOutcome) -> Task<SyncOutcome, Never> {
        Task {
            await withCheckedContinuation { continuation in
                self.borrowers.append(continuation)
                self.handle { loop, _ in loop.borrow() }
            }
            let outcome = await sync()
            NetworkActor.execute { self.handle { loop, _ in loop.returned() } }
            return outcome
        }
    }

    @NetworkActor
    func pause() { handle { loop, now in loop.pause(now: now) } }

    @NetworkActor
    func reconnect() { handle { loop, now in loop.reconnect(now: now) } }

    /// Like ``reconnect()``, but does nothing unless the loop is running.
    @NetworkActor
    func retryIfRunning() {
        if peek({ $0.isRunning }) { reconnect() }
    }

    @NetworkActor
    func hold(_ isHeld: Bool) { handle { loop, now in loop.hold(isHeld, now: now) } }

    @NetworkActor
    func hold(for reader: EventReader) { handle { loop, now in loop.hold(for: reader, now: now) } }

    @NetworkActor
    func release(for reader: EventReader) { handle { loop, now in loop.release(for: reader, now: now) } }

    @NetworkActor
    func close() {
        handle { loop, now in loop.close(now: now) }
        closeDriver()
    }

    @NetworkActor
    func carryOut(_ action: SyncLoop.Action) {
        switch action {
        case .poll(let poll): start(poll)
        case .cancelPoll: task?.cancel()
        case .lend: if !borrowers.isEmpty { borrowers.removeFirst().resume() }
        case .changed(_, let state): tell(.changed(state))
        case .synced: tell(.synced)
        case .held(let message): tell(.held(message))
        case .resumed(let message): tell(.resumed(message))
        case .failed(let problem, let delay): tell(.failed(lastError ?? problem.error, retryAfter: delay))
        }
    }

    @NetworkActor
    private func start(_ poll: SyncLoop.Poll) {
        lastError = nil
        task = Task { [weak self, sync] in
            let outcome = await sync(poll) { stage in
                NetworkActor.execute {
                    self?.handle { loop, now in loop.progressed(poll.number, to: stage, now: now) }
                }
            }
            NetworkActor.execute { self?.ended(poll, outcome) }
        }
    }

    @NetworkActor
    private func ended(_ poll: SyncLoop.Poll, _ outcome: SyncOutcome) {
        switch outcome {
        case .applied: handle { loop, now in loop.answered(poll.number, now: now) }
        case .failed(let problem, let error):
            lastError = error
            handle { loop, now in loop.failed(poll.number, problem, now: now) }
        }
    }
}

extension SyncLoop.Problem {
    fileprivate var error: MatrixError {
        switch self {
        case .timedOut: MatrixError(.timedOut, "the homeserver did not answer the sync in time")
        case .unreachable, .refused, .unauthenticated, .notStored:
            MatrixError(.network, "the sync with the homeserver failed")
        }
    }
}
