package import Basics
package import Realtime

/// Drives a machine: holds it, carries out what it orders, keeps its time, and tells it of the network. What an order
/// means is known to the ``Shell`` alone.
///
///     any thread: call ──► machine (in its lock)          I/O thread: handle ──► machine
///                                └──► carryOut on the I/O thread ◄────────┘
///
/// What is confined to the I/O thread is only touched by the methods of ``Shell`` below.
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

    /// How late it is for the machine.
    nonisolated package var now: MonotonicInstant { loop.now }
}

/// What stands between a machine and the world: it performs the machine's actions, and reports what happens with
/// ``call(_:)`` from any thread or ``handle(_:)`` on the I/O thread.
///
/// A ``Driver`` keeps no reference to its shell, so that a shell ends when nobody wants it any more.
package protocol Shell<M>: AnyObject, Sendable {
    associatedtype M: Machine

    nonisolated var driver: Driver<M> { get }

    /// Does what the machine has ordered. Events that this leads to may be reported at once: what is ordered because of
    /// them comes after the orders that wait already.
    @NetworkActor
    func carryOut(_ action: M.Action)

    /// The actions that waited were carried out; more may have been ordered meanwhile.
    @NetworkActor
    func carriedOutActions()
}

extension Shell {
    @NetworkActor
    package func carriedOutActions() {}

    // MARK: The machine

    /// Looks at the machine.
    nonisolated package func peek<Result: Sendable>(_ body: (M) -> Result) -> Result {
        driver.machine.withLock { body($0) }
    }

    /// Lets the machine do something, then carries out what follows on the I/O thread. From any thread.
    @discardableResult
    nonisolated package func call<Result: Sendable, Failure: Error>(
        _ body: (inout M, MonotonicInstant) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { driver.loop.execute { self.carryOut() } }
        return try change(body)
    }

    /// The same on the I/O thread, where what follows is carried out at once.
    @NetworkActor
    @discardableResult
    package func handle<Result: Sendable>(_ body: (inout M, MonotonicInstant) -> Result) -> Result {
        defer { carryOut() }
        return change(body)
    }

    /// The same for what comes many times in a row: what follows is carried out in one go.
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

    /// Orders that arise meanwhile follow in order.
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

    /// Activity mostly moves the deadline further away, so an armed timer that is earlier is left alone: it fires, finds
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

    /// From now on the machine is told of the network.
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

    /// Lets go of time and network. What the machine orders is carried out all the same.
    @NetworkActor
    package func closeDriver() {
        driver.isClosed = true
        driver.timer = nil
        driver.armedDeadline = nil
        driver.networkObservation = nil
    }
}
