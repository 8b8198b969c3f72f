/// A running authorization, shared by all that wait for it. It is cancelled when the last of them releases it.
final class AuthorizationWork: Sendable {
    private let task: Task<Void, Never>

    init(_ work: @escaping @Sendable () async -> Void) {
        task = Task { await work() }
    }

    deinit {
        task.cancel()
    }
}
