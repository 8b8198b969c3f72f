import PusherTestSupport
import TestSupport
import Testing
import Transport

@testable import MatrixSDK

@Suite struct TurnsTests {
    @Test func aTurnThatIsLetGoDoesNotLetTheNextOvertake() async throws {
        let turns = Turns()
        let order = Lock<[String]>([])
        let (gate, open) = AsyncStream<Never>.makeStream()
        let first = turns.take()
        let running = Task {
            try await first.run {
                order.withLock { $0.append("first began") }
                for await _ in gate {}
                order.withLock { $0.append("first ended") }
            }
        }
        #expect(await eventually { !order.withLock { $0 }.isEmpty })
        _ = turns.take()
        let third = turns.take()
        let waiting = Task { try await third.run { order.withLock { $0.append("third") } } }
        for _ in 0..<100 { await Task.yield() }
        try await Task.sleep(for: .milliseconds(20))
        open.finish()
        try await running.value
        try await waiting.value
        #expect(order.withLock { $0 } == ["first began", "first ended", "third"])
    }
}
