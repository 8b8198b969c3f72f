/// An authorization under way, shared by all that wait for it: when the last of them lets go of it, it is cancelled.
final class AuthorizationWork: Sendable {
    private let task: Task<Void, Never>

    init(_ work: @escaping @Sendable () async -> Void) {
        task = Task { await work() }
    }

    deinit {
        task.cancel()
    }
}
