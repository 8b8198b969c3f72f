package import Basics

/// One attempt that many wait for, such as a login: who asks while it is under way goes on with its end.
///
/// It is a part of the state that says whether there is an attempt, in the same lock: that one has ended, and that nobody
/// waits for it any more, are one step.
package struct SharedAttempt: Sendable {
    /// Counts what has come to an end, so that nobody waits for what is over.
    package private(set) var version = 0
    /// How the last of it ended.
    private var outcome: Result<Void, any Error> = .success(())
    private var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var lastWaiter = 0

    /// Who waited, to go on after the lock.
    package struct Ended: Sendable {
        fileprivate var waiters: [CheckedContinuation<Void, any Error>] = []
        fileprivate var outcome: Result<Void, any Error> = .success(())

        /// Nobody.
        package init() {}

        package func resume() {
            for waiter in waiters { waiter.resume(with: outcome) }
        }
    }

    package init() {}

    /// It is over.
    package mutating func end(_ outcome: Result<Void, any Error>) -> Ended {
        defer { waiters = [:] }
        version += 1
        self.outcome = outcome
        var ended = Ended()
        (ended.waiters, ended.outcome) = (Array(waiters.values), outcome)
        return ended
    }

    fileprivate mutating func nextWaiter() -> Int {
        lastWaiter += 1
        return lastWaiter
    }

    /// - Returns: Nil if it waits.
    fileprivate mutating func wait(
        _ id: Int, since version: Int, _ continuation: CheckedContinuation<Void, any Error>
    ) -> Result<Void, any Error>? {
        guard version == self.version else { return outcome }
        waiters[id] = continuation
        return nil
    }

    fileprivate mutating func leave(_ id: Int) -> CheckedContinuation<Void, any Error>? {
        waiters.removeValue(forKey: id)
    }
}

/// A state with an attempt in it.
package protocol SharingAttempts: SendableMetatype {
    var attempt: SharedAttempt { get set }
}

extension Lock where State: SharingAttempts {
    /// Waits for the end of the attempt that was under way at `version`.
    ///
    /// - Parameter cancelled: Thrown if the task is cancelled.
    /// - Throws: The attempt's error too.
    package func endOfAttempt(since version: Int, cancelled: some Error) async throws {
        let id = withLock { $0.attempt.nextWaiter() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome = withLock { state -> Result<Void, any Error>? in
                    if Task.isCancelled { return .failure(cancelled) }
                    return state.attempt.wait(id, since: version, continuation)
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            withLock { $0.attempt.leave(id) }?.resume(throwing: cancelled)
        }
    }
}
