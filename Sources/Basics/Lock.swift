import Glibc

/// State that several threads touch, reachable only while its lock is held.
///
/// The lock is a `pthread_mutex_t`: ThreadSanitizer understands it, whereas on Linux it reports every use of the
/// standard library's `Mutex` as a race (its futex is not instrumented). Never call user code inside ``withLock(_:)``.
///
/// `@unchecked Sendable`: `state` is only reached through ``withLock(_:)``.
package final class Lock<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    package init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the lock held. Not re-entrant.
    @inline(__always)
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
