import Glibc

/// State shared by several threads, accessible only while its lock is held.
///
/// The lock is a `pthread_mutex_t`: ThreadSanitizer understands it, whereas on Linux it reports every use of the
/// standard library's `Mutex` as a race (its futex is not instrumented).
///
/// Never call application code inside ``withLock(_:)``, and never release an application's object there: its `deinit`
/// may take the same lock. Reading a weak reference counts too, because the copy may be the last one. Return such
/// values from the closure, so that they are released after the lock. In debug builds, a thread that takes a lock that
/// it already holds stops the program with a message that names both places; in release builds it would wait forever.
///
/// `@unchecked Sendable`: `state` is only accessed through ``withLock(_:)``.
package final class Lock<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State
    #if DEBUG
        /// Where the current holder took the lock. Only that thread reads or writes it.
        private var holder: (file: StaticString, line: UInt) = ("", 0)
    #endif

    package init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        #if DEBUG
            var attributes = pthread_mutexattr_t()
            pthread_mutexattr_init(&attributes)
            pthread_mutexattr_settype(&attributes, .init(PTHREAD_MUTEX_ERRORCHECK))
            pthread_mutex_init(mutex, &attributes)
            pthread_mutexattr_destroy(&attributes)
        #else
            pthread_mutex_init(mutex, nil)
        #endif
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    #if DEBUG
        /// Runs `body` while holding the lock. Not re-entrant.
        package func withLock<Result, Failure: Error>(
            file: StaticString = #fileID, line: UInt = #line,
            _ body: (inout State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            if pthread_mutex_lock(mutex) == EDEADLK {
                fatalError(
                    "this thread took the lock at \(holder.file):\(holder.line) and still holds it", file: file,
                    line: line)
            }
            holder = (file, line)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&state)
        }
    #else
        /// Runs `body` while holding the lock. Not re-entrant.
        @inline(__always)
        package func withLock<Result, Failure: Error>(
            _ body: (inout State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&state)
        }
    #endif
}

extension Lock where State: Sendable {
    /// Sets the state and returns the old one, so that it is released after the lock.
    @discardableResult
    package func exchange(_ new: State) -> State {
        withLock { state in
            defer { state = new }
            return state
        }
    }
}
