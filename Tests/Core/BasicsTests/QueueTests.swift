import Basics
import Testing

struct QueueTests {
    private final class Value: Sendable {
        private let released: Lock<Int>

        init(_ released: Lock<Int>) { self.released = released }

        deinit { released.withLock { $0 += 1 } }
    }

    @Test func elementsComeOutInOrder() {
        var queue = Queue<Int>()
        var (last, next) = (0, 1)
        // More elements come than go, then more go than come.
        for (coming, going) in [(700, 300), (100, 400), (1, 1), (5, 100)] {
            for _ in 0..<coming {
                last += 1
                queue.append(last)
            }
            for _ in 0..<going {
                let first = queue.popFirst()
                #expect(first == next)
                next += 1
            }
            #expect(queue.count == last - next + 1)
        }
        let (two, rest) = (queue.popFirst(atMost: 2), queue.popAll())
        #expect(two == [next, next + 1])
        #expect(rest == Array((next + 2)...last))
        let none = queue.popFirst()
        #expect(queue.isEmpty && none == nil)
    }

    @Test func anElementThatWasTakenIsKeptByNobody() {
        let released = Lock(0)
        var queue = Queue<Value>()
        for _ in 0..<1000 { queue.append(Value(released)) }
        for count in 1...1000 {
            _ = queue.popFirst()
            #expect(released.withLock { $0 } == count)
        }
    }

    @Test func whatWasTakenFromAnInboxIsNotReleasedWithTheRest() {
        let released = Lock(0)
        var inbox = SerialInbox<Value>()
        for _ in 0..<10 { inbox.add(Value(released)) }
        for count in 1...4 {
            _ = inbox.next()
            #expect(released.withLock { $0 } == count)
        }
        _ = inbox.next(atMost: 3)
        #expect(released.withLock { $0 } == 7)
    }
}
