import Basics
import Realtime
import TestSupport
import Testing

@testable import CurlTransport

@NetworkActor
@Suite struct DriverTests {
    private let loop = ManualLoop()

    private func makeShell() -> ListShell { ListShell(on: loop) }

    @Test func ordersThatAriseMeanwhileFollowInOrder() {
        let shell = makeShell()
        shell.onAction = { action in
            if action == 1 { shell.handle { machine, _ in machine.actions.append(3) } }
        }
        shell.handle { machine, _ in machine.actions += [1, 2] }
        #expect(shell.performed == [1, 2, 3])
        #expect(shell.rows == 2)
    }

    @Test func aCallReturnsAtOnce_andIsCarriedOutOnTheLoop() {
        let shell = makeShell()
        let count = shell.call { machine, _ in
            machine.actions.append(1)
            return machine.actions.count
        }
        #expect(count == 1 && shell.performed.isEmpty)
        loop.runJobs()
        #expect(shell.performed == [1])
    }

    @Test func whatComesManyTimesInARowIsCarriedOutInOneGo() {
        let shell = makeShell()
        for action in 1...3 { shell.handleSoon { machine, _ in machine.actions.append(action) } }
        #expect(loop.jobCount == 1 && shell.performed.isEmpty)
        loop.runJobs()
        #expect(shell.performed == [1, 2, 3])
        shell.handleSoon { machine, _ in machine.actions.append(4) }
        #expect(loop.jobCount == 1)
    }

    @Test func aTimerThatIsArmedEarlierIsLeftAlone_andArmedAgainWhenItFires() {
        let shell = makeShell()
        shell.handle { machine, _ in machine.nextDeadline = .at(10) }
        shell.handle { machine, _ in machine.nextDeadline = .at(20) }
        #expect(loop.settings == [.at(10)])
        loop.fire(at: .at(10))
        #expect(loop.settings == [.at(10), .at(20)])
        #expect(shell.peek { $0.timesPassed } == 1)
        shell.handle { machine, _ in machine.nextDeadline = .at(15) }
        #expect(loop.settings == [.at(10), .at(20), .at(15)])
    }

    @Test func aDeadlineThatIsGoneIsWaitedForNoLonger() {
        let shell = makeShell()
        shell.handle { machine, _ in machine.nextDeadline = .at(10) }
        shell.handle { machine, _ in machine.nextDeadline = nil }
        #expect(loop.settings == [.at(10), nil])
    }

    @Test func theMachineIsToldOfTheNetwork_untilTheDriverIsClosed() {
        let shell = makeShell()
        shell.watchNetwork()
        shell.watchNetwork()
        loop.network(.lost)
        loop.network(.changed)
        #expect(shell.performed == [-1, -2])
        shell.closeDriver()
        shell.handle { machine, _ in machine.nextDeadline = .at(30) }
        #expect(loop.settings.isEmpty)
        #expect(loop.observation == nil)
    }

    @Test func aShellThatNobodyWantsIsLetGoOf() {
        weak var shell: ListShell?
        do {
            let strong = makeShell()
            strong.watchNetwork()
            strong.handle { machine, _ in machine.nextDeadline = .at(10) }
            strong.handleSoon { machine, _ in machine.actions.append(1) }
            shell = strong
        }
        #expect(shell == nil)
        loop.fire(at: .at(10))
        loop.runJobs()
    }
}

/// A machine whose actions are numbers.
private struct ListMachine: Machine {
    var actions: [Int] = []
    var nextDeadline: MonotonicInstant?
    var timesPassed = 0

    mutating func takeActions() -> [Int] {
        defer { actions = [] }
        return actions
    }

    mutating func timePassed(now: MonotonicInstant) { timesPassed += 1 }
    mutating func networkLost(now: MonotonicInstant) { actions.append(-1) }
    mutating func networkReturned(now: MonotonicInstant) { actions.append(-2) }
}

@NetworkActor
private final class ListShell: Shell {
    nonisolated let driver: Driver<ListMachine>
    var onAction: ((Int) -> Void)?
    private(set) var performed: [Int] = []
    private(set) var rows = 0

    init(on loop: ManualLoop) {
        driver = Driver(ListMachine(), on: loop)
    }

    func carryOut(_ action: Int) {
        performed.append(action)
        onAction?(action)
    }

    func carriedOutActions() { rows += 1 }
}

/// A loop that is turned manually.
private final class ManualLoop: DriverLoop {
    private struct State: Sendable {
        var now = MonotonicInstant.start
        var jobs: [@Sendable @NetworkActor () -> Void] = []
    }

    private let state = Lock(State())
    @NetworkActor private(set) var settings: [MonotonicInstant?] = []
    @NetworkActor private(set) weak var observation: Observation?
    @NetworkActor private weak var timer: Timer?

    var now: MonotonicInstant { state.withLock { $0.now } }

    func execute(_ job: @escaping @Sendable @NetworkActor () -> Void) { state.withLock { $0.jobs.append(job) } }

    var jobCount: Int { state.withLock { $0.jobs.count } }

    @NetworkActor
    func runJobs() {
        let jobs = state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job() }
    }

    func makeTimer(_ onFire: @escaping @NetworkActor () -> Void) -> any DriverTimer {
        let timer = Timer(on: self, onFire)
        self.timer = timer
        return timer
    }

    @NetworkActor
    func fire(at moment: MonotonicInstant) {
        state.withLock { $0.now = moment }
        timer?.onFire()
    }

    func observeNetwork(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) -> any Sendable {
        let observation = Observation(observer)
        self.observation = observation
        return observation
    }

    @NetworkActor
    func network(_ change: NetworkMonitor.Change) { observation?.observer(change) }

    @NetworkActor
    final class Observation {
        let observer: @NetworkActor (NetworkMonitor.Change) -> Void

        init(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) {
            self.observer = observer
        }
    }

    @NetworkActor
    final class Timer: DriverTimer {
        let onFire: @NetworkActor () -> Void
        private unowned let loop: ManualLoop

        init(on loop: ManualLoop, _ onFire: @escaping @NetworkActor () -> Void) {
            self.onFire = onFire
            self.loop = loop
        }

        func set(_ deadline: MonotonicInstant?) { loop.settings.append(deadline) }
    }
}
