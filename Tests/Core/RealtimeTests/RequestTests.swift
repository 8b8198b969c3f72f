import Basics
import Realtime
import Testing

/// Many callers waiting for one attempt.
@Suite(.timeLimit(.minutes(15))) struct SharedAttemptTests {
    private struct State: SharingAttempts {
        var attempt = SharedAttempt()
    }

    private enum Failure: Error {
        case refused, givenUp
    }

    private let state = Lock(State())

    /// Returns a task that is already waiting.
    private func waiter(since version: Int) -> Task<Void, any Error> {
        Task.immediate { try await state.endOfAttempt(since: version, cancelled: Failure.givenUp) }
    }

    private func end(_ outcome: Result<Void, any Error>) {
        state.withLock { $0.attempt.end(outcome) }.resume()
    }

    @Test func allWhoWaitGoOnWithItsEnd() async throws {
        let (one, two) = (waiter(since: 0), waiter(since: 0))
        end(.failure(Failure.refused))
        await #expect(throws: Failure.refused) { try await one.value }
        await #expect(throws: Failure.refused) { try await two.value }
        let next = waiter(since: 1)
        end(.success(()))
        try await next.value
    }

    /// The attempt ended between the check and the wait.
    @Test func whoComesTooLateGoesOnAtOnce() async {
        end(.failure(Failure.refused))
        await #expect(throws: Failure.refused) { try await waiter(since: 0).value }
    }

    @Test func whoIsCancelledWaitsNoLonger_andTheOthersDo() async throws {
        let (one, two) = (waiter(since: 0), waiter(since: 0))
        one.cancel()
        await #expect(throws: Failure.givenUp) { try await one.value }
        end(.success(()))
        try await two.value
    }
}

@Suite(.timeLimit(.minutes(15))) struct RequestOperationTests {
    @Test func cancellingIsRemembered_andReachesTheCall() async {
        let (answers, server) = AsyncStream.makeStream(of: Void.self)
        let (ends, call) = AsyncStream.makeStream(of: Bool.self)
        let operation = RequestOperation.start {
            for await _ in answers {}
            call.yield(Task.isCancelled)
            call.finish()
        }
        #expect(!operation.isCancelled)
        operation.cancel()
        #expect(operation.isCancelled)
        for await isCancelled in ends { #expect(isCancelled) }
        withExtendedLifetime(server) {}
    }
}
