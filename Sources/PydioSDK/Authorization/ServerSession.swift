import PydioProtocol
import Transport

/// The authorisation of one server, and who waits for it. All clients of a manager share it.
final class ServerSession: Sendable {
    private struct State {
        var machine: AuthorizationMachine
        /// Counts attempts that have come to an end, so that nobody waits for what is over.
        var version = 0
        /// How the last of them ended.
        var outcome: Result<Void, PydioError> = .success(())
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var nextWaiter = 0
        var hasWarned = false

        /// The attempt is over.
        ///
        /// - Returns: Who waits for it, to go on after the lock.
        mutating func end(_ outcome: Result<Void, PydioError>) -> Ended {
            defer { waiters = [:] }
            version += 1
            self.outcome = outcome
            return Ended(waiters: Array(waiters.values), outcome: outcome)
        }
    }

    private struct Ended {
        var waiters: [CheckedContinuation<Void, any Error>] = []
        var outcome: Result<Void, PydioError> = .success(())

        func resume() {
            for waiter in waiters { waiter.resume(with: outcome.mapError { $0 }) }
        }
    }

    private let state: Lock<State>

    init(deviceId: String) {
        state = Lock(State(machine: AuthorizationMachine(deviceId: deviceId)))
    }

    func read<Value: Sendable>(_ body: @Sendable (AuthorizationMachine) -> Value) -> Value {
        state.withLock { body($0.machine) }
    }

    /// Changes what is known. Who waits for an attempt that does not count any more goes on.
    @discardableResult
    func change<Value: Sendable>(_ body: @Sendable (inout AuthorizationMachine) -> Value) -> Value {
        let (value, ended) = state.withLock { state in
            let wasAuthorizing = state.machine.isAuthorizing
            let value = body(&state.machine)
            return (value, wasAuthorizing && !state.machine.isAuthorizing ? state.end(.success(())) : Ended())
        }
        ended.resume()
        return value
    }

    /// Asks the machine, and says which attempt's end is to be waited for.
    func ask(
        _ body: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.CallAction
    ) -> (action: AuthorizationMachine.CallAction, version: Int) {
        state.withLock { (body(&$0.machine), $0.version) }
    }

    /// The answer to an order, or why there is none. The end of an attempt and that nobody waits for it any more are one step:
    /// who asks next must not wait for what is over, nor end with another attempt.
    func progress(
        _ body: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.Progress
    ) -> AuthorizationMachine.Progress {
        let (progress, ended) = state.withLock { state in
            let progress = body(&state.machine)
            switch progress {
            case .done: return (progress, state.end(.success(())))
            case .failed(let error): return (progress, state.end(.failure(error)))
            case .send, .none: return (progress, Ended())
            }
        }
        ended.resume()
        return progress
    }

    /// Whether this is the first time that a warning is due.
    func warnsNow() -> Bool {
        state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
    }

    /// Waits for the end of the attempt that was under way at `version`.
    func end(since version: Int) async throws {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome = state.withLock { state -> Result<Void, PydioError>? in
                    if Task.isCancelled { return .failure(.cancelled) }
                    if state.version != version { return state.outcome }
                    state.waiters[id] = continuation
                    return nil
                }
                switch outcome {
                case .success: continuation.resume()
                case .failure(let error): continuation.resume(throwing: error)
                case nil: break
                }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: PydioError.cancelled)
        }
    }
}
