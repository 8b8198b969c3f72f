import Basics
import Realtime
import RelayProtocol
import Testing

/// The order of sending and resending (Documentation/Rules/relay.md, "Publishing").
struct OutboxTests {
    private static let message = OutgoingMessage(subject: "ev.pusher.price.changed", payload: [])
    private static let start = MonotonicInstant(nanoseconds: 0)

    private func outbox(flight: Int = 512, waitingBytes: Int = 1 << 20, units: [String] = ["u"]) throws -> Outbox {
        var limits = Outbox.Limits()
        (limits.flight, limits.waitingBytes) = (flight, waitingBytes)
        var outbox = Outbox(limits)
        for unit in units { outbox.open(unit, in: Slot(of: unit), term: 1) }
        return outbox
    }

    private func numbers(_ entries: [Outbox.Entry]) -> [Int] { entries.map(\.number) }

    @Test func noMoreIsOnItsWayThanMayBe() throws {
        var outbox = try outbox(flight: 3)
        for _ in 0..<5 { outbox.add("u", byteCount: 1, time: 0) { _, _ in Self.message } }
        let first = outbox.takeNext(now: Self.start)
        #expect(numbers(first) == [1, 2, 3] && outbox.takeNext(now: Self.start).isEmpty)
        outbox.ended(first[1].token, .stored, now: Self.start)
        #expect(numbers(outbox.takeNext(now: Self.start)) == [4])
    }

    /// The names are equal as `String`s.
    @Test func unitsWhoseNamesUnicodeConsidersEqualAreTwo() throws {
        let (composed, decomposed) = ("matrix:@\u{E9}:x", "matrix:@e\u{301}:x")
        var outbox = try outbox(units: [composed, decomposed])
        for unit in [composed, decomposed] { outbox.add(unit, byteCount: 1, time: 0) { _, _ in Self.message } }
        let entries = outbox.takeNext(now: Self.start)
        #expect(entries.map { Array($0.unit.utf8) } == [Array(composed.utf8), Array(decomposed.utf8)])
        #expect(numbers(entries) == [1, 1])
        outbox.ended(entries[0].token, .failed, now: Self.start)
        outbox.ended(entries[1].token, .stored, now: Self.start)
        let retry = try #require(outbox.nextRetry)
        #expect(outbox.takeNext(now: retry).map { Array($0.unit.utf8) } == [Array(composed.utf8)])
        outbox.close(composed)
        #expect(outbox.add(composed, byteCount: 1, time: 0) { _, _ in Self.message } == nil)
        #expect(outbox.add(decomposed, byteCount: 1, time: 0) { _, _ in Self.message } == 2)
    }

    @Test func afterAFailureAllIsSentAgainInOrder_beforeWhatIsNew() throws {
        var outbox = try outbox(flight: 3)
        for _ in 0..<5 { outbox.add("u", byteCount: 1, time: 0) { _, _ in Self.message } }
        let first = outbox.takeNext(now: Self.start)
        outbox.ended(first[2].token, .failed, now: Self.start)
        #expect(outbox.takeNext(now: Self.start).isEmpty)
        outbox.ended(first[0].token, .failed, now: Self.start)
        outbox.ended(first[1].token, .stored, now: Self.start)
        #expect(outbox.takeNext(now: Self.start).isEmpty)  // a server without a leader answers immediately
        let retry = try #require(outbox.nextRetry)
        let again = outbox.takeNext(now: retry)
        #expect(numbers(again) == [1, 3])
        outbox.ended(again[0].token, .stored, now: retry)
        #expect(outbox.takeNext(now: retry).isEmpty)
        outbox.ended(again[1].token, .stored, now: retry)
        #expect(numbers(outbox.takeNext(now: retry)) == [4, 5])
    }

    @Test func aPositionIsReachedOnceAllBeforeItIsThere() throws {
        var outbox = try outbox()
        outbox.mark("u", position: "a")
        #expect(outbox.takeReached().map(\.position) == ["a"])
        for _ in 0..<2 { outbox.add("u", byteCount: 1, time: 0) { _, _ in Self.message } }
        outbox.mark("u", position: "b")
        outbox.add("u", byteCount: 1, time: 0) { _, _ in Self.message }
        outbox.mark("u", position: "c")
        let entries = outbox.takeNext(now: Self.start)
        outbox.ended(entries[2].token, .stored, now: Self.start)
        outbox.ended(entries[0].token, .stored, now: Self.start)
        #expect(outbox.takeReached().isEmpty)
        outbox.ended(entries[1].token, .stored, now: Self.start)
        #expect(outbox.takeReached().map(\.position) == ["c"])
    }

    @Test func nothingMoreIsReadWhenTooMuchWaits() throws {
        var outbox = try outbox(waitingBytes: 100)
        outbox.add("u", byteCount: 101, time: 0) { _, _ in Self.message }
        #expect(outbox.isHolding)
        let entries = outbox.takeNext(now: Self.start)
        #expect(outbox.isHolding)
        outbox.ended(entries[0].token, .stored, now: Self.start)
        #expect(!outbox.isHolding && outbox.byteCount == 0)
    }

    @Test func whatIsNotOursAnyMoreIsForgotten() throws {
        var outbox = try outbox(units: ["u", "v"])
        for unit in ["u", "v"] { outbox.add(unit, byteCount: 10, time: 5) { _, _ in Self.message } }
        let entries = outbox.takeNext(now: Self.start)
        outbox.close("u")
        #expect(outbox.byteCount == 10 && outbox.flightCount == 1 && outbox.isEmpty("u") && outbox.oldestTime == 5)
        for entry in entries { outbox.ended(entry.token, .stored, now: Self.start) }
        #expect(outbox.byteCount == 0 && outbox.oldestTime == nil)
        #expect(outbox.add("u", byteCount: 1, time: 0) { _, _ in Self.message } == nil)
    }

    @Test func whatCannotBeStoredHoldsNothingUp() throws {
        var outbox = try outbox()
        for _ in 0..<2 { outbox.add("u", byteCount: 1, time: 0) { _, _ in Self.message } }
        outbox.mark("u", position: "end")
        let entries = outbox.takeNext(now: Self.start)
        outbox.ended(entries[0].token, .impossible, now: Self.start)
        outbox.ended(entries[1].token, .stored, now: Self.start)
        #expect(outbox.takeImpossible().map(\.number) == [1])
        #expect(outbox.takeReached().map(\.position) == ["end"])
    }

    /// A stream that fails randomly. First copies are stored in order, except those in flight together with a failure,
    /// and in the end everything is stored.
    @Test(arguments: 0..<50) func allIsStored_andOfAUnitNothingOvertakesAFailure(seed: UInt64) throws {
        var random = JitterGenerator(seed: seed)
        let units = ["a", "b", "c"]
        var outbox = try outbox(flight: 8, units: units)
        var (now, flight, stored, added) = (Self.start, [Outbox.Entry](), [String: [Int]](), [String: Int]())
        var failing: [String: Int] = [:]
        for step in 0... {
            let isOver = step > 300
            if !isOver, let unit = units.randomElement(using: &random) {
                added[unit, default: 0] += 1
                outbox.add(unit, byteCount: 1, time: 0) { _, _ in Self.message }
                if Bool.random(using: &random) { outbox.mark(unit, position: "\(added[unit] ?? 0)") }
            }
            for entry in outbox.takeNext(now: now) {
                // Nothing newer than a pending failure is sent.
                if let first = failing[entry.unit] { #expect(entry.number <= first) }
                flight.append(entry)
            }
            #expect(flight.count <= 8)
            if !flight.isEmpty {
                let entry = flight.remove(at: Int.random(in: 0..<flight.count, using: &random))
                let outcome: PublishOutcome =
                    isOver
                    ? .stored : [.stored, .stored, .stored, .failed, .full].randomElement(using: &random) ?? .stored
                outbox.ended(entry.token, outcome, now: now)
                if outcome == .stored {
                    stored[entry.unit, default: []].append(entry.number)
                } else {
                    let newest = flight.filter { $0.unit == entry.unit }.map(\.number).max() ?? 0
                    failing[entry.unit] = max(failing[entry.unit] ?? 0, entry.number, newest)
                }
                let known = Set(stored[entry.unit] ?? [])
                if let first = failing[entry.unit], (1...first).allSatisfy(known.contains) { failing[entry.unit] = nil }
            }
            for (unit, _, position) in outbox.takeReached() {
                let number = try #require(Int(position))
                #expect(Set(1...number).isSubset(of: stored[unit] ?? []))
            }
            now = max(now, outbox.nextRetry ?? now) + .milliseconds(1)
            if isOver, flight.isEmpty, outbox.byteCount == 0 { break }
            try #require(step < 3000)
        }
        for unit in units { #expect(Set(stored[unit] ?? []).count == added[unit] ?? 0) }
    }
}
