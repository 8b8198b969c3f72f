/// Isolation to the I/O thread that all clients share.
@globalActor
package actor NetworkActor {
    package static let shared = NetworkActor()

    package nonisolated var unownedExecutor: UnownedSerialExecutor { EventLoop.shared.asUnownedSerialExecutor() }

    /// Runs `job` on the I/O thread, after previously submitted jobs. May be called from any thread.
    package nonisolated static func execute(_ job: @escaping @Sendable @NetworkActor () -> Void) {
        EventLoop.shared.submit(job)
    }

    /// Runs `operation` synchronously, for C callbacks known to arrive on the I/O thread; traps on other threads.
    static nonisolated func assumeIsolated<Result: Sendable>(
        _ operation: @NetworkActor () throws -> Result
    ) rethrows -> Result {
        EventLoop.shared.checkIsolated()
        // The isolation is verified; only the type still requires it. `MainActor.assumeIsolated` does the same.
        return try withoutActuallyEscaping(operation) { operation in
            try unsafeBitCast(operation, to: (() throws -> Result).self)()
        }
    }
}
