import CurlTransport
import MatrixProtocol
import Transport

/// Carries out what the ``SyncLoop`` orders: makes requests, keeps time, watches the network.
///
/// One answer at a time is fetched, applied and stored; the loop hears of it when that is done.
@NetworkActor
final class SyncDriver {
    /// Fetches, applies and stores one answer.
    typealias Sync = @Sendable (SyncLoop.Poll) async -> SyncOutcome

    /// How that ended, with the error to be reported.
    enum SyncOutcome: Sendable {
        case applied
        case failed(SyncLoop.Problem, any Error)
    }

    private var loop: SyncLoop
    private let sync: Sync
    private let tell: @Sendable (Report) -> Void
    private var task: Task<Void, Never>?
    private var lastError: (any Error)?
    private var timer: NetworkTimer?
    private var network: NetworkMonitor.Observation?

    /// What the session is told, in order.
    enum Report: Sendable {
        case changed(MXSessionState)
        case synced
        case failed(any Error, retryAfter: Duration?)
    }

    nonisolated init(_ loop: SyncLoop, sync: @escaping Sync, tell: @escaping @Sendable (Report) -> Void) {
        self.loop = loop
        self.sync = sync
        self.tell = tell
    }

    func start() {
        watchNetwork()
        carryOut(loop.start(now: .now))
        tell(.changed(loop.state))  // the session may say that it is to pause
        // It is up to date already, and the next answer may be long in coming.
        if loop.state == .running { tell(.synced) }
    }

    /// A sync beside the loop, which is paused. Should it go on meanwhile, its request waits for the end of this one.
    func once(_ sync: @escaping @Sendable () async -> SyncOutcome) -> Task<SyncOutcome, Never> {
        let last = task
        let once = Task {
            await last?.value
            return await sync()
        }
        task = Task { _ = await once.value }
        return once
    }

    func pause() { carryOut(loop.pause(now: .now)) }

    func reconnect() { carryOut(loop.reconnect(now: .now)) }

    func hold(_ isHeld: Bool) { carryOut(loop.hold(isHeld, now: .now)) }

    func close() {
        carryOut(loop.close(now: .now))
        timer = nil
        network = nil
    }

    private func watchNetwork() {
        guard network == nil else { return }
        network = NetworkMonitor.shared.observe { [weak self] change in
            guard let self else { return }
            switch change {
            case .lost: carryOut(loop.networkLost(now: .now))
            case .returned, .changed: carryOut(loop.networkReturned(now: .now))
            }
        }
    }

    private func carryOut(_ actions: [SyncLoop.Action]) {
        for action in actions {
            switch action {
            case .poll(let poll): start(poll)
            case .cancelPoll: task?.cancel()
            case .changed(_, let state): tell(.changed(state))
            case .failed(let problem, let delay): tell(.failed(lastError ?? problem.error, retryAfter: delay))
            }
        }
        arm()
    }

    /// The next request waits for the end of the last one, which may still be applying its answer.
    private func start(_ poll: SyncLoop.Poll) {
        let (last, sync) = (task, sync)
        lastError = nil
        task = Task { [weak self] in
            await last?.value
            guard !Task.isCancelled else { return }
            let outcome = await sync(poll)
            NetworkActor.execute { self?.ended(poll, outcome) }
        }
    }

    private func ended(_ poll: SyncLoop.Poll, _ outcome: SyncOutcome) {
        switch outcome {
        case .applied:
            let actions = loop.answered(poll.number, now: .now)
            carryOut(actions)
            if !actions.isEmpty || loop.state == .running { tell(.synced) }
        case .failed(let problem, let error):
            lastError = error
            carryOut(loop.failed(poll.number, problem, now: .now))
        }
    }

    private func arm() {
        if timer == nil {
            timer = NetworkTimer { [weak self] in
                guard let self else { return }
                carryOut(loop.timePassed(now: .now))
            }
        }
        timer?.set(loop.nextDeadline)
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
