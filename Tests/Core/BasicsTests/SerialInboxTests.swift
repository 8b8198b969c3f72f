import Basics
import Dispatch
import Testing

struct SerialInboxTests {
    @Test func whatIsAddedMeanwhileComesInItsTurn() {
        var inbox = SerialInbox<Int>()
        inbox.add(1)
        var isOurs = inbox.begin()
        #expect(isOurs)
        var seen: [Int] = []
        while let next = inbox.next() {
            seen.append(next)
            guard next < 3 else { continue }
            inbox.add(next + 1)
            isOurs = inbox.begin()
            #expect(!isOurs)
        }
        #expect(seen == [1, 2, 3])
        inbox.add(4)
        isOurs = inbox.begin()
        #expect(isOurs)
        let all = inbox.all()
        #expect(all == [4])
        let none = inbox.all()
        #expect(none.isEmpty)
        isOurs = inbox.begin()
        #expect(isOurs)
    }

    @Test func aPartIsTakenAtOnce_andNothingIsTheEnd() {
        var inbox = SerialInbox<Int>()
        for number in 1...5 { inbox.add(number) }
        var isOurs = inbox.begin()
        #expect(isOurs)
        var parts: [[Int]] = []
        while case let part = inbox.next(atMost: 2), !part.isEmpty { parts.append(Array(part)) }
        #expect(parts == [[1, 2], [3, 4], [5]])
        isOurs = inbox.begin()
        #expect(isOurs)
    }

    /// The thread that begins may be slow to take the first element.
    @Test func untilTheFirstIsTakenNobodyElseBegins() {
        var inbox = SerialInbox<Int>()
        for number in 1...2 {
            inbox.add(number)
            let isOurs = inbox.begin()
            #expect(isOurs == (number == 1))
        }
        let all = inbox.all()
        #expect(all == [1, 2])
    }

    @Test func whoeverEmptiesFindsNothingMoreOnceItIsForgotten() {
        var inbox = SerialInbox<Int>()
        for number in 1...3 { inbox.add(number) }
        var isOurs = inbox.begin()
        #expect(isOurs)
        let first = inbox.next()
        #expect(first == 1)
        let forgotten = inbox.removeAll()
        #expect(forgotten == [2, 3])
        let next = inbox.next()
        #expect(next == nil)
        isOurs = inbox.begin()
        #expect(isOurs)
    }

    /// In any interleaving, one thread at a time hands on, and each element comes once, in the order of its thread.
    @Test func manyThreadsHandOnOneAtATime() {
        struct State {
            var inbox = SerialInbox<(thread: Int, number: Int)>()
            var isHandingOn = false
            var last = [Int](repeating: 0, count: 8)
            var faults = 0
        }
        let state = Lock(State())
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 1...2000 {
                let isOurs = state.withLock { state in
                    state.inbox.add((thread, number))
                    return state.inbox.begin()
                }
                guard isOurs else { continue }
                while let next = state.withLock({ $0.inbox.next() }) {
                    state.withLock { state in
                        if state.isHandingOn || state.last[next.thread] + 1 != next.number { state.faults += 1 }
                        (state.isHandingOn, state.last[next.thread]) = (true, next.number)
                    }
                    state.withLock { $0.isHandingOn = false }
                }
            }
        }
        #expect(state.withLock { $0.faults } == 0)
        #expect(state.withLock { $0.last } == [Int](repeating: 2000, count: 8))
    }

    /// A handed-on value can have a reference to the inbox's owner.
    @Test func whatWasTakenIsLetGoOf() {
        final class Object: Sendable {}
        var inbox = SerialInbox<Object>()
        weak var last: Object?
        do {
            let object = Object()
            last = object
            inbox.add(object)
            _ = inbox.begin()
        }
        _ = inbox.next()
        #expect(last == nil)
    }
}
