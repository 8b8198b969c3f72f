package import Basics

/// One attempt that many callers wait for, such as a login. A caller that asks while it is running shares its outcome.
///
/// It belongs to the state that records whether an attempt is running, under the same lock. Ending the attempt and
/// releasing its waiters is thus one step.
package struct SharedAttempt: Sendable {
    /// The number of completed attempts, so that no caller waits for one that is over.
    package private(set) var version = 0
    private var outcome: Result<Void, any Error> = .success(())
    private var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var lastWaiter = 0

    /// The waiters of an ended attempt, to be resumed after the lock.
    package struct Ended: Sendable {
        fileprivate var waiters: [CheckedContinuation<Void, any Error>] = []
        fileprivate var outcome: Result<Void, any Error> = .success(())

        /// Creates an empty value without waiters.
        package init() {}

        package func resume() {
            for waiter in waiters { waiter.resume(with: outcome) }
        }
    }

    package init() {}

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

    /// - Returns: The outcome; nil if the caller waits for it.
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

package protocol SharingAttempts: SendableMetatype {
    var attempt: SharedAttempt { get set }
}

extension Lock where State: SharingAttempts {
    /// Waits for the end of the attempt that was running at `version`.
    ///
    /// - Parameter cancelled: The error to throw if the task is cancelled.
    /// - Throws: `cancelled`, or the attempt's error.
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
