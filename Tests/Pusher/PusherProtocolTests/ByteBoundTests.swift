import Basics
import Realtime
import Testing

@testable import PusherProtocol

/// Data whose size the server chooses is bounded in bytes; each bound is tested from both sides.
struct ByteBoundTests {
    /// Each name costs 64 bytes in addition to its own: 8,192 names of 64 bytes make 1 MiB.
    @Test func namesOfUnknownChannelsMayHaveAMebibyte() {
        func name(_ number: Int) -> ByteKey {
            let digits = "\(number)"
            return ByteKey(String(repeating: "x", count: 64 - digits.utf8.count) + digits)
        }
        var names = UnknownChannels()
        for number in 1...8192 where names.note(name(number)) != .new {
            Issue.record("name \(number) is not new")
        }
        let others = [8193, 8194, 1].map { names.note(name($0)) }
        #expect(others == [.tooMany, .known, .known])
    }

    /// Each event costs 256 bytes in addition to its own.
    @Test func sealedEventsMayHaveAsManyBytesAsTheOptionSays() throws {
        let event = RealtimeEvent(name: "e", channel: "c", data: String(repeating: "x", count: 1000))
        let cost = event.bytes.count + 256
        var events = SealedEvents()
        let taken = [cost - 1, cost, 2 * cost - 1, 2 * cost].map { events.append(event, upTo: $0) }
        #expect(taken == [false, true, false, true])
        events.removeFirst()
        let isTakenAgain = events.append(event, upTo: 2 * cost)
        #expect(isTakenAgain)
        let all = events.takeAll()
        #expect(all.count == 2)
        let isTakenAtLast = events.append(event, upTo: cost)
        #expect(isTakenAtLast)
    }
}
