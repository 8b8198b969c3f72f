import Basics
import CurlTransport
import Realtime
import Transport

/// Planned events and options. Made from a seed; steps can be omitted.
protocol Schedule: Sendable {
    associatedtype Happening: Sendable
    associatedtype Options

    var seed: UInt64 { get }
    var options: Options { get set }
    var steps: [Step<Happening>] { get set }

    init(seed: UInt64)

    /// Changes that each simplify the options.
    static var simplifications: [@Sendable (inout Options) -> Void] { get }
}

struct Step<Happening: Sendable>: Sendable {
    /// The time since the previous step.
    var wait: Duration
    var happening: Happening
}

/// The real driver and the real machine, with a network, a server and an application of their own, on a clock of their
/// own.
///
/// Everything runs on the I/O thread and never waits: work of other threads, such as callbacks or calls of the
/// application, runs at separate times between the steps of the driver.
@NetworkActor
protocol Simulation: AnyObject, Sendable {
    associatedtype Plan: Schedule
    associatedtype Kind: CaseIterable & RawRepresentable<String> & Hashable

    init(_ schedule: Plan, isRecording: Bool)

    var schedule: Plan { get }
    var stage: Stage { get }
    var statistics: Statistics<Kind> { get }

    func perform(_ happening: Plan.Happening)

    /// Ends all faults. The rest of the schedule's time follows.
    func heal()

    /// Checks the invariants that hold at any time.
    func checkAlways()

    /// The machine's next deadline.
    var nextDeadline: MonotonicInstant? { get }
}

extension Simulation {
    var now: MonotonicInstant { stage.loop.now }

    var random: Random {
        get { stage.random }
        _modify { yield &stage.random }
    }

    var violation: String? { stage.violation }

    /// Runs the whole schedule, then a long time without faults, then the end.
    func run() {
        var time = now
        for step in schedule.steps {
            time = time + step.wait
            stage.loop.add(at: time) { [unowned self] in
                log("\(step.happening)")
                perform(step.happening)
            }
        }
        stage.loop.add(at: time) { [unowned self] in heal() }
        stage.loop.onTimer = { [unowned self] in timerFired() }
        var count = 0
        while stage.violation == nil, stage.loop.runNext() {
            checkAlways()
            count += 1
            check(count < 50_000, "it never comes to rest")
        }
        stage.loop.end()
    }

    private func timerFired() {
        check(!stage.isOver, "a timer fires after the end")
        guard let next = nextDeadline, next <= now else {
            stage.idleTimers = 0
            return
        }
        stage.idleTimers += 1
        check(stage.idleTimers < 20, "time has passed, and nothing was done about it")
    }

    func after(_ wait: Duration, _ job: @escaping SimulatedLoop.Job) {
        stage.loop.add(at: now + wait, job)
    }

    func jumpClock(_ duration: Duration) {
        stage.loop.jump(duration)
        stage.lastClockJump = now
    }

    // MARK: Findings

    func check(_ isTrue: Bool, _ message: @autoclosure () -> String) {
        guard !isTrue, stage.violation == nil else { return }
        let message = message()
        stage.violation = message
        log("VIOLATION: \(message)")
    }

    func log(_ line: @autoclosure () -> String) {
        guard stage.transcript != nil else { return }
        let seconds = Double((now - SimulatedLoop.start) / .milliseconds(1)).rounded(.down) / 1000
        stage.transcript?.append("\(seconds) s  \(line())")
    }
}
