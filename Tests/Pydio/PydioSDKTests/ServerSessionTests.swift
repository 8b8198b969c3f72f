import Testing

@testable import PydioSDK

@Suite struct ServerSessionTests {
    /// No call can come between the machine's end of an attempt and the end of the waiting.
    @Test(.timeLimit(.minutes(15)))
    func whoAsksAfterTheEndOfAnAttemptDoesNotWaitForIt() async throws {
        let session = ServerSession(deviceId: "d")
        let (_, version) = session.ask { _ in .wait }
        _ = session.progress { _ in .done }
        try await session.end(since: version)
        let (_, next) = session.ask { _ in .wait }
        #expect(next != version)
    }
}
