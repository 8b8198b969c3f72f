import Basics
import CurlTransport

/// The clock and the job queue of a driver and its environment: planned jobs, soonest first. Nothing ever waits in
/// here: time passes when a job is taken.
final class SimulatedLoop: DriverLoop {
    typealias Job = @Sendable @NetworkActor () -> Void

    private struct State: Sendable {
        var now = SimulatedLoop.start
        var agenda = Agenda<Job>()
        var random: Random
        /// The time of the driver's last job, which keeps jobs in order.
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

    // MARK: The driver's interface

    var now: MonotonicInstant { state.withLock { $0.now } }

    /// Adds a job after a short wait, because the I/O thread has other work, too.
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

    // MARK: The simulation's interface

    /// Whether the driver has pending jobs.
    var hasWaitingJobs: Bool { state.withLock { $0.waitingJobs > 0 } }

    @NetworkActor
    func add(at time: MonotonicInstant, _ job: @escaping Job) {
        state.withLock { $0.agenda.add(job, at: time) }
    }

    @NetworkActor
    func network(_ change: NetworkMonitor.Change) {
        for observer in networkObservers { observer(change) }
    }

    /// Simulates a sleep of the system.
    @NetworkActor
    func jump(_ duration: Duration) {
        state.withLock { $0.now = $0.now + duration }
    }

    /// - Returns: Whether there was a job left.
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

    /// Drops everything, so that jobs that never run keep nothing alive.
    @NetworkActor
    func end() {
        state.withLock { $0.agenda = Agenda() }
        networkObservers = []
        onTimer = nil
    }
}
