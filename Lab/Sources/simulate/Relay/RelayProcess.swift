import Basics
import CurlTransport
import RelayProtocol

/// One process of a relay, with a clock of its own.
@NetworkActor
final class RelayProcess: Shell {
    let id: RelayID
    nonisolated let loop: ProcessLoop
    nonisolated let driver: Driver<OwnershipMachine>
    private unowned let simulation: RelaySimulation
    var link = RelaySchedule.Link()
    var isDead = false
    var isLeaving = false
    /// It misses changes of the bucket since then.
    var isBlind = true
    /// When the newest change comes to it.
    var lastChange = SimulatedLoop.start
    var leavingSince: MonotonicInstant?
    /// Since when sources of slots are read that are another's; nil as long as they begin.
    var prepared: [Slot: MonotonicInstant?] = [:]
    /// Slots that were to come here once, and are not prepared again in that term.
    var withdrawn: Set<Slot> = []
    /// Slots whose sources had begun.
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

    /// Something is wrong with it.
    func trouble(until end: MonotonicInstant) { troubleEnd = max(troubleEnd, end) }

    /// Nothing has gone wrong for so long that nothing of it is left.
    var isWell: Bool { isWell(for: .seconds(90)) }

    /// Nothing has gone wrong for that long.
    func isWell(for time: Duration) -> Bool {
        !isDead && link.isFaultless && !isBlind && simulation.now - troubleEnd > time
    }

    func carryOut(_ action: OwnershipMachine.Action) {
        if !isDead { simulation.perform(action, of: self) }
    }

    /// Something comes to the process, which may stand still.
    func take(_ change: @escaping @Sendable (inout OwnershipMachine, MonotonicInstant) -> Void) {
        loop.run { [weak self] in
            guard let self, !isDead else { return }
            handle(change)
        }
    }

    /// What it believes now that it owns.
    var owned: Dictionary<Slot, Int>.Keys {
        let now = loop.now
        let held: [Slot: Int] = peek { machine in
            guard let beat = machine.lastBeat, now - beat <= machine.configuration.holderLimit else { return [:] }
            return machine.held
        }
        return held.keys
    }
}

/// The clock of a process, which may run faster or slower, and its line of jobs, which may stand still.
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

    /// Now, or when the pause is over.
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
