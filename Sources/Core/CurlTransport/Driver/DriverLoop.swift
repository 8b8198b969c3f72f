package import Basics

/// The environment of a ``Driver``: a clock, the I/O thread's queue of jobs, timers, and network changes.
package protocol DriverLoop: Sendable {
    var now: MonotonicInstant { get }

    /// Runs `job` after previously submitted jobs. May be called from any thread.
    func execute(_ job: @escaping @Sendable @NetworkActor () -> Void)

    @NetworkActor
    func makeTimer(_ onFire: @escaping @NetworkActor () -> Void) -> any DriverTimer

    /// - Returns: An object that keeps the observation alive.
    @NetworkActor
    func observeNetwork(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) -> any Sendable
}

/// Calls back at a given time. Releasing it cancels.
@NetworkActor
package protocol DriverTimer: AnyObject {
    /// Sets a new time, or cancels if `deadline` is nil.
    func set(_ deadline: MonotonicInstant?)
}

extension NetworkTimer: DriverTimer {}

/// The production implementation.
package struct NetworkLoop: DriverLoop {
    package init() {}

    package var now: MonotonicInstant { .now }

    package func execute(_ job: @escaping @Sendable @NetworkActor () -> Void) { NetworkActor.execute(job) }

    package func makeTimer(_ onFire: @escaping @NetworkActor () -> Void) -> any DriverTimer { NetworkTimer(onFire) }

    package func observeNetwork(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) -> any Sendable {
        NetworkMonitor.shared.observe(observer)
    }
}
