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
        let (value, hasEnded) = state.withLock { state in
            let wasAuthorizing = state.machine.isAuthorizing
            let value = body(&state.machine)
            return (value, wasAuthorizing && !state.machine.isAuthorizing)
        }
        if hasEnded { end(.success(())) }
        return value
    }

    /// Asks the machine, and says which attempt's end is to be waited for.
    func ask(
        _ body: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.CallAction
    ) -> (action: AuthorizationMachine.CallAction, version: Int) {
        state.withLock { (body(&$0.machine), $0.version) }
    }

    /// The answer to an order, or why there is none.
    func progress(
        _ body: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.Progress
    ) -> AuthorizationMachine.Progress {
        state.withLock { body(&$0.machine) }
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

    /// The attempt is over.
    func end(_ outcome: Result<Void, PydioError>) {
        let waiters = state.withLock { state in
            state.version += 1
            state.outcome = outcome
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters {
            switch outcome {
            case .success: waiter.resume()
            case .failure(let error): waiter.resume(throwing: error)
            }
        }
    }
}
