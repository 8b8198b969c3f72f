import Basics
import CurlTransport
import RelayProtocol

/// One process of a relay, with its own clock.
@NetworkActor
final class RelayProcess: Shell {
    let id: RelayID
    nonisolated let loop: ProcessLoop
    nonisolated let driver: Driver<OwnershipMachine>
    private unowned let simulation: RelaySimulation
    var link = RelaySchedule.Link()
    var isDead = false
    var isLeaving = false
    /// Whether it misses changes of the bucket.
    var isBlind = true
    /// The time at which the newest change reaches it.
    var lastChange = SimulatedLoop.start
    var leavingSince: MonotonicInstant?
    /// The time since which another owner's sources are read in advance; `nil` while they start.
    var prepared: [Slot: MonotonicInstant?] = [:]
    /// Slots that were once meant to move here, and are not prepared again in that term.
    var withdrawn: Set<Slot> = []
    /// Slots whose sources have started.
    var sources: Set<Slot> = []
    private var troubleEnd: MonotonicInstant

    init(_ simulation: RelaySimulation, _ id: RelayID, slots: Set<Slot>, rate: Double) {
        self.simulation = simulation
        self.id = id
        loop = ProcessLoop(simulation.stage.loop, rate: rate)
        var configuration = OwnershipMachine.Configuration(relay: id, slots: slots)
        configuration.holderLimit = .seconds(10)
        configuration.observerWait = .seconds(15)
        configuration.startPause = .seconds(1)
        driver = Driver(OwnershipMachine(configuration, now: loop.now), on: loop)
        troubleEnd = simulation.now
    }

    /// Records a fault that lasts until a time.
    func trouble(until end: MonotonicInstant) { troubleEnd = max(troubleEnd, end) }

    /// Whether the last fault is so long ago that its effects are over.
    var isWell: Bool { isWell(for: .seconds(90)) }

    /// Whether there was no fault for that long.
    func isWell(for time: Duration) -> Bool {
        !isDead && link.isFaultless && !isBlind && simulation.now - troubleEnd > time
    }

    func carryOut(_ action: OwnershipMachine.Action) {
        if !isDead { simulation.perform(action, of: self) }
    }

    /// Delivers a change to the process, which may be paused.
    func take(_ change: @escaping @Sendable (inout OwnershipMachine, MonotonicInstant) -> Void) {
        loop.run { [weak self] in
            guard let self, !isDead else { return }
            handle(change)
        }
    }

    /// The slots that it currently believes to own.
    var owned: Dictionary<Slot, Int>.Keys {
        let now = loop.now
        let held: [Slot: Int] = peek { machine in
            guard let beat = machine.lastBeat, now - beat <= machine.configuration.holderLimit else { return [:] }
            return machine.held
        }
        return held.keys
    }
}

/// The clock of a process, which may be fast or slow, and its queue of jobs, which may be paused.
final class ProcessLoop: DriverLoop {
    private let loop: SimulatedLoop
    private let rate: Double
    private let pauseEnd = Lock(SimulatedLoop.start)

    init(_ loop: SimulatedLoop, rate: Double) {
        (self.loop, self.rate) = (loop, rate)
    }

    var now: MonotonicInstant {
        SimulatedLoop.start
            + .nanoseconds(Int64(Double((loop.now - SimulatedLoop.start).wholeNanoseconds) * rate))
    }

    func pause(_ duration: Duration) {
        pauseEnd.withLock { $0 = max($0, loop.now + duration) }
    }

    /// Runs a job now, or after the pause.
    @NetworkActor
    func run(_ job: @escaping SimulatedLoop.Job) {
        let end = pauseEnd.withLock { $0 }
        if end > loop.now { loop.add(at: end) { self.run(job) } } else { job() }
    }

    func execute(_ job: @escaping SimulatedLoop.Job) { loop.execute { self.run(job) } }

    func makeTimer(_ onFire: @escaping @NetworkActor () -> Void) -> any DriverTimer { Timer(self, onFire) }

    func observeNetwork(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) -> any Sendable {
        loop.observeNetwork(observer)
    }

    @NetworkActor
    private final class Timer: DriverTimer {
        private let loop: ProcessLoop
        private let onFire: @NetworkActor () -> Void
        private var setting = 0

        init(_ loop: ProcessLoop, _ onFire: @escaping @NetworkActor () -> Void) {
            (self.loop, self.onFire) = (loop, onFire)
        }

        func set(_ deadline: MonotonicInstant?) {
            setting += 1
            guard let deadline else { return }
            let wait = Double((deadline - loop.now).wholeNanoseconds) / loop.rate
            loop.loop.add(at: loop.loop.now + .nanoseconds(Int64(max(wait, 0)) + 1)) { [weak self, setting] in
                self?.loop.run { if let self, self.setting == setting { self.onFire() } }
            }
        }
    }
}
