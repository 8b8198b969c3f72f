package import Basics
package import Realtime

/// Drives a machine: stores it, performs its actions, keeps its time, and reports network changes to it. Only the
/// ``Shell`` knows the meaning of an action.
///
///     any thread: call ──► machine (in its lock)          I/O thread: handle ──► machine
///                                └──► carryOut on the I/O thread ◄────────┘
///
/// State confined to the I/O thread is only used by the methods of ``Shell`` below.
@NetworkActor
package final class Driver<M: Machine> {
    nonisolated fileprivate let machine: Lock<M>
    nonisolated fileprivate let loop: any DriverLoop
    fileprivate var timer: (any DriverTimer)?
    fileprivate var armedDeadline: MonotonicInstant?
    fileprivate var networkObservation: (any Sendable)?
    fileprivate var isCarryingOut = false
    fileprivate var isToCarryOut = false
    fileprivate var isClosed = false

    nonisolated package init(_ machine: sending M, on loop: any DriverLoop = NetworkLoop()) {
        self.machine = Lock(machine)
        self.loop = loop
    }

    nonisolated package var now: MonotonicInstant { loop.now }
}

/// Connects a machine to the outside world: it performs the machine's actions and reports events with ``call(_:)`` from
/// any thread or ``handle(_:)`` on the I/O thread.
///
/// A ``Driver`` keeps no reference to its shell, so that a shell ends with its last owner.
package protocol Shell<M>: AnyObject, Sendable {
    associatedtype M: Machine

    nonisolated var driver: Driver<M> { get }

    /// Performs an action of the machine. Resulting events may be reported at once: the actions that they cause come
    /// after those already pending.
    @NetworkActor
    func carryOut(_ action: M.Action)

    /// Called when the pending actions have been performed; more may have been added meanwhile.
    @NetworkActor
    func carriedOutActions()
}

extension Shell {
    @NetworkActor
    package func carriedOutActions() {}

    // MARK: The machine

    nonisolated package func peek<Result: Sendable>(_ body: (M) -> Result) -> Result {
        driver.machine.withLock { body($0) }
    }

    /// Calls the machine, then performs the resulting actions on the I/O thread. From any thread.
    @discardableResult
    nonisolated package func call<Result: Sendable, Failure: Error>(
        _ body: (inout M, MonotonicInstant) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { driver.loop.execute { self.carryOut() } }
        return try change(body)
    }

    /// Calls the machine on the I/O thread and performs the resulting actions at once.
    @NetworkActor
    @discardableResult
    package func handle<Result: Sendable>(_ body: (inout M, MonotonicInstant) -> Result) -> Result {
        defer { carryOut() }
        return change(body)
    }

    /// Like ``handle(_:)``, but for frequent events: the resulting actions are performed together.
    @NetworkActor
    package func handleSoon(_ body: (inout M, MonotonicInstant) -> Void) {
        change(body)
        guard !driver.isToCarryOut else { return }
        driver.isToCarryOut = true
        driver.loop.execute { [weak self] in
            guard let self else { return }
            driver.isToCarryOut = false
            carryOut()
        }
    }

    nonisolated private func change<Result: Sendable, Failure: Error>(
        _ body: (inout M, MonotonicInstant) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let loop = driver.loop
        return try driver.machine.withLock { machine throws(Failure) in try body(&machine, loop.now) }
    }

    // MARK: Actions

    /// Actions added meanwhile follow in order.
    @NetworkActor
    private func carryOut() {
        guard !driver.isCarryingOut else { return }
        driver.isCarryingOut = true
        defer { driver.isCarryingOut = false }
        while true {
            let (actions, deadline) = driver.machine.withLock { machine in
                let actions = machine.takeActions()
                return (actions, actions.isEmpty ? machine.nextDeadline : nil)
            }
            if actions.isEmpty { return arm(deadline) }
            for action in actions { carryOut(action) }
            carriedOutActions()
        }
    }

    // MARK: Time and network

    /// Activity mostly postpones the deadline, so a timer armed for an earlier time is left alone: it fires, finds
    /// nothing due and is armed again. That is much cheaper than arming it with each event.
    @NetworkActor
    private func arm(_ deadline: MonotonicInstant?) {
        guard let deadline, !driver.isClosed else {
            if driver.armedDeadline != nil { driver.timer?.set(nil) }
            driver.armedDeadline = nil
            return
        }
        if let armed = driver.armedDeadline, armed <= deadline { return }
        if driver.timer == nil {
            driver.timer = driver.loop.makeTimer { [weak self] in self?.timerFired() }
        }
        driver.armedDeadline = deadline
        driver.timer?.set(deadline)
    }

    @NetworkActor
    private func timerFired() {
        driver.armedDeadline = nil
        handle { machine, now in machine.timePassed(now: now) }
    }

    /// Starts reporting network changes to the machine.
    @NetworkActor
    package func watchNetwork() {
        guard driver.networkObservation == nil, !driver.isClosed else { return }
        driver.networkObservation = driver.loop.observeNetwork { [weak self] change in
            switch change {
            case .lost: self?.handle { machine, now in machine.networkLost(now: now) }
            case .returned, .changed: self?.handle { machine, now in machine.networkReturned(now: now) }
            }
        }
    }

    /// Stops timers and network reports. The machine's actions are still performed.
    @NetworkActor
    package func closeDriver() {
        driver.isClosed = true
        driver.timer = nil
        driver.armedDeadline = nil
        driver.networkObservation = nil
    }
}
