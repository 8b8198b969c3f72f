import Testing

@testable import PydioSDK

@Suite struct ServerSessionTests {
    /// Between the machine's end of an attempt and that of the waiting nobody can come.
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
