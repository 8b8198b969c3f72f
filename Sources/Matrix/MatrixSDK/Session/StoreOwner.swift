import Basics
import Dispatch
import Glibc
import MatrixProtocol

/// Lets one thread at a time change a session's model and its store, in the order they arrive.
///
/// No lock is held meanwhile: an application's own store may be slow, and may use the session.
final class StoreOwner: Sendable {
    private struct Waiter {
        let thread: pthread_t
        let turn = DispatchSemaphore(value: 0)
    }

    private struct State {
        var owner: pthread_t?
        var waiters: [Waiter] = []
    }

    private let state = Lock(State())

    /// Runs `body` after all earlier calls are done.
    ///
    /// - Throws: The error of `body`, or an error if the store itself calls it, which would wait for its own end.
    func run<Value>(_ body: () throws(MatrixError) -> Value) throws(MatrixError) -> Value {
        guard !isMine else {
            throw MatrixError(.invalidArgument, "a store cannot change its session while that waits for it")
        }
        take()
        defer { pass() }
        return try body()
    }

    /// Like ``run(_:)``, but for the last call, which the store itself may make.
    func runLast(_ body: () -> Void) {
        guard !isMine else { return body() }
        take()
        defer { pass() }
        body()
    }

    private var isMine: Bool { state.withLock { $0.owner == pthread_self() } }

    private func take() {
        let waiter = state.withLock { state -> Waiter? in
            guard state.owner != nil else {
                state.owner = pthread_self()
                return nil
            }
            let waiter = Waiter(thread: pthread_self())
            state.waiters.append(waiter)
            return waiter
        }
        waiter?.turn.wait()
    }

    private func pass() {
        let next = state.withLock { state -> Waiter? in
            let next = state.waiters.isEmpty ? nil : state.waiters.removeFirst()
            state.owner = next?.thread
            return next
        }
        next?.turn.signal()
    }
}
