import Basics
import PusherTestSupport
import TestSupport
import Testing

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
        #expect(await !eventually(within: .milliseconds(20)) { order.withLock { $0.count } > 1 })
        open.finish()
        try await running.value
        try await waiting.value
        #expect(order.withLock { $0 } == ["first began", "first ended", "third"])
    }
}
