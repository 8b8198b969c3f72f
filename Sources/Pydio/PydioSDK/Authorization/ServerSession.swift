import Basics
import PydioProtocol
import Realtime

/// The authorisation of one server, and who waits for it. All clients of a manager share it.
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

    /// Changes what is known. Who waits for an attempt that does not count any more goes on.
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

    /// Asks the machine, and says which attempt's end is to be waited for.
    func ask(
        _ body: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.CallAction
    ) -> (action: AuthorizationMachine.CallAction, version: Int) {
        state.withLock { (body(&$0.machine), $0.attempt.version) }
    }

    /// The answer to an order, or why there is none. The end of an attempt and that nobody waits for it any more are one step:
    /// who asks next must not wait for what is over, nor end with another attempt.
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

    /// Whether this is the first time that a warning is due.
    func warnsNow() -> Bool {
        state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
    }

    /// Waits for the end of the attempt that was under way at `version`.
    func end(since version: Int) async throws {
        try await state.endOfAttempt(since: version, cancelled: PydioError.cancelled)
    }
}
