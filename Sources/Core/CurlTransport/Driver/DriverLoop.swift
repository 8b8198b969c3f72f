package import Basics

/// What a ``Driver`` runs on: a clock, the I/O thread's line of jobs, timers, and news of the network.
package protocol DriverLoop: Sendable {
    var now: MonotonicInstant { get }

    /// Runs `job` after the jobs handed over before it. May be called from any thread.
    func execute(_ job: @escaping @Sendable @NetworkActor () -> Void)

    @NetworkActor
    func makeTimer(_ onFire: @escaping @NetworkActor () -> Void) -> any DriverTimer

    /// - Returns: What keeps the observation.
    @NetworkActor
    func observeNetwork(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) -> any Sendable
}

/// Calls back when a moment has come. Letting go of it cancels.
@NetworkActor
package protocol DriverTimer: AnyObject {
    /// Replaces the moment. Nil cancels.
    func set(_ deadline: MonotonicInstant?)
}

extension NetworkTimer: DriverTimer {}

/// The real one.
package struct NetworkLoop: DriverLoop {
    package init() {}

    package var now: MonotonicInstant { .now }

    package func execute(_ job: @escaping @Sendable @NetworkActor () -> Void) { NetworkActor.execute(job) }

    package func makeTimer(_ onFire: @escaping @NetworkActor () -> Void) -> any DriverTimer { NetworkTimer(onFire) }

    package func observeNetwork(_ observer: @escaping @NetworkActor (NetworkMonitor.Change) -> Void) -> any Sendable {
        NetworkMonitor.shared.observe(observer)
    }
}
