import Basics
import PydioProtocol
import Realtime

/// The authorization of one server, and its waiters. All clients of a manager share it.
final class ServerSession: Sendable {
    private struct State: SharingAttempts {
        var machine: AuthorizationMachine
        var attempt = SharedAttempt()
        var hasWarned = false
    }

    private let state: Lock<State>

    init(deviceId: String) {
        state = Lock(State(machine: AuthorizationMachine(deviceId: deviceId)))
    }

    func read<Value: Sendable>(_ body: @Sendable (AuthorizationMachine) -> Value) -> Value {
        state.withLock { body($0.machine) }
    }

    /// Changes the state. Resumes the waiters of an attempt that no longer counts.
    @discardableResult
    func change<Value: Sendable>(_ body: @Sendable (inout AuthorizationMachine) -> Value) -> Value {
        let (value, ended) = state.withLock { state in
            let wasAuthorizing = state.machine.isAuthorizing
            let value = body(&state.machine)
            return (value, wasAuthorizing && !state.machine.isAuthorizing ? state.attempt.end(.success(())) : .init())
        }
        ended.resume()
        return value
    }

    /// Runs `body` on the machine, and returns the version of the attempt to wait for.
    func ask(
        _ body: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.CallAction
    ) -> (action: AuthorizationMachine.CallAction, version: Int) {
        state.withLock { (body(&$0.machine), $0.attempt.version) }
    }

    /// Passes the answer to an order, or the failure, to the machine. Ends the attempt and releases its waiters in one
    /// step, so that the next caller neither waits for an ended attempt nor ends with another one.
    func progress(
        _ body: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.Progress
    ) -> AuthorizationMachine.Progress {
        let (progress, ended) = state.withLock { state in
            let progress = body(&state.machine)
            switch progress {
            case .done: return (progress, state.attempt.end(.success(())))
            case .failed(let error): return (progress, state.attempt.end(.failure(error)))
            case .send, .none: return (progress, SharedAttempt.Ended())
            }
        }
        ended.resume()
        return progress
    }

    /// Returns whether a warning is due for the first time.
    func warnsNow() -> Bool {
        state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
    }

    /// Waits for the end of the attempt that was running at `version`.
    func end(since version: Int) async throws {
        try await state.endOfAttempt(since: version, cancelled: PydioError.cancelled)
    }
}
