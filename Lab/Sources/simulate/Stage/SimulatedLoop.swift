import Basics
import CurlTransport

/// The clock and the line of jobs that a driver runs on, and everything around it, too: what is going to happen, soonest
/// first. Nothing ever waits in here: time passes when a job is taken.
final class SimulatedLoop: DriverLoop {
    typealias Job = @Sendable @NetworkActor () -> Void

    private struct State: Sendable {
        var now = SimulatedLoop.start
        var agenda = Agenda<Job>()
        var random: Random
        /// Jobs that a driver has handed over, in order.
        var lastJob = SimulatedLoop.start
        var waitingJobs = 0
    }

    static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private let state: Lock<State>
    @NetworkActor private var networkObservers: [@NetworkActor (NetworkMonitor.Change) -> Void] = []
    /// Called after a timer of the driver's has fired.
    @NetworkActor var onTimer: (() -> Void)?

    init(seed: UInt64) {
        state = Lock(State(random: Random(seed: seed)))
    }

    // MARK: What a driver runs on

    var now: MonotonicInstant { state.withLock { $0.now } }

    /// The I/O thread has other things to do, too: a job waits a moment for its turn.
    func execute(_ job: @escaping Job) {
        state.withLock { state in
            state.waitingJobs += 1
            state.lastJob = max(state.lastJob, state.now + .microseconds(state.random.below(500)))
            state.agenda.add(
                {
                    self.state.withLock { $0.waitingJobs -= 1 }
                    job()
                }, at: state.lastJob)
        }
    }

    func makeTimer(_ onFire: @escaping @NetworkActor () -> Void) -> any DriverTimer {
        Timer(on: self) { [weak self] in
            onFire()
            self?.onTimer?()
        }
    }

    func observeNetwork(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) -> any Sendable {
        networkObservers.append(observer)
        return 0
    }

    @NetworkActor
    private final class Timer: DriverTimer {
        private let onFire: @NetworkActor () -> Void
        private unowned let loop: SimulatedLoop
        private var setting = 0

        init(on loop: SimulatedLoop, _ onFire: @escaping @NetworkActor () -> Void) {
            self.onFire = onFire
            self.loop = loop
        }

        func set(_ deadline: MonotonicInstant?) {
            setting += 1
            guard let deadline else { return }
            loop.add(at: deadline) { [weak self, setting] in
                if let self, self.setting == setting { onFire() }
            }
        }
    }

    // MARK: What happens

    /// Whether the driver has jobs that wait.
    var hasWaitingJobs: Bool { state.withLock { $0.waitingJobs > 0 } }

    @NetworkActor
    func add(at time: MonotonicInstant, _ job: @escaping Job) {
        state.withLock { $0.agenda.add(job, at: time) }
    }

    @NetworkActor
    func network(_ change: NetworkMonitor.Change) {
        for observer in networkObservers { observer(change) }
    }

    /// The system has slept.
    @NetworkActor
    func jump(_ duration: Duration) {
        state.withLock { $0.now = $0.now + duration }
    }

    /// - Returns: Whether there was anything left.
    @NetworkActor
    func runNext() -> Bool {
        let job = state.withLock { state -> Job? in
            guard let (time, job) = state.agenda.popFirst() else { return nil }
            state.now = max(state.now, time)
            return job
        }
        job?()
        return job != nil
    }

    /// Forgets everything, so that nothing is kept by what never happens.
    @NetworkActor
    func end() {
        state.withLock { $0.agenda = Agenda() }
        networkObservers = []
        onTimer = nil
    }
}
