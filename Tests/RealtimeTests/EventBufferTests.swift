import Realtime
import TestSupport
import Testing
import Transport

struct EventBufferTests {
    @Test func elementsComeOutInOrder() async {
        let buffer = EventBuffer<Int>(policy: .default)
        for number in 1...1000 { #expect(buffer.add(number) == .buffered) }
        for number in 1...1000 { #expect(await buffer.next() == number) }
        buffer.finish()
        #expect(await buffer.next() == nil)
    }

    @Test func aWaitingReaderGetsTheNextElement() async {
        let buffer = EventBuffer<Int>(policy: .default)
        async let element = buffer.next()
        #expect(buffer.add(7) == .buffered)
        #expect(await element == 7)
        #expect(buffer.count == 0)
    }

    @Test func suspendSaysWhenItIsFullAndWhenThereIsRoom() async {
        let rooms = Lock(0)
        let buffer = EventBuffer<Int>(policy: .suspend(limit: 4)) { rooms.withLock { $0 += 1 } }
        #expect((1...5).map(buffer.add) == [.buffered, .buffered, .buffered, .full, .buffered])
        _ = await buffer.next()
        _ = await buffer.next()
        #expect(rooms.withLock { $0 } == 0)
        _ = await buffer.next()
        #expect(rooms.withLock { $0 } == 1)
        #expect(await buffer.next() == 4)
        #expect(await buffer.next() == 5)
        #expect(rooms.withLock { $0 } == 1)
    }

    @Test func closingAFullBufferMakesRoom() {
        let rooms = Lock(0)
        let buffer = EventBuffer<Int>(policy: .suspend(limit: 1)) { rooms.withLock { $0 += 1 } }
        #expect(buffer.add(1) == .full)
        buffer.close()
        #expect(rooms.withLock { $0 } == 1)
        #expect(buffer.add(2) == .finished)
        buffer.close()
        #expect(rooms.withLock { $0 } == 1)
    }

    @Test func dropOldestKeepsTheNewest() async {
        let buffer = EventBuffer<Int>(policy: .dropOldest(limit: 2))
        #expect((1...4).map(buffer.add) == [.buffered, .buffered, .droppedOldest, .droppedOldest])
        #expect(await buffer.next() == 3)
        #expect(await buffer.next() == 4)
    }

    @Test func failEndsAfterWhatWaits() async {
        let buffer = EventBuffer<Int>(policy: .fail(limit: 2))
        #expect((1...4).map(buffer.add) == [.buffered, .buffered, .overflowed, .finished])
        #expect(await buffer.next() == 1)
        #expect(await buffer.next() == 2)
        #expect(await buffer.next() == nil)
    }

    @Test func cancellingEndsTheWait() async {
        let buffer = EventBuffer<Int>(policy: .default)
        let task = Task { await buffer.next() }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test func theLastToLetGoOfASequenceEndsIt() async {
        let ended = Lock(false)
        let buffer = EventBuffer<Int>(policy: .default)
        var sequence: EventSequence<Int>? = EventSequence(buffer) { ended.withLock { $0 = true } }
        _ = buffer.add(1)
        for await element in sequence! {
            #expect(element == 1)
            break
        }
        #expect(!ended.withLock { $0 })
        sequence = nil
        #expect(ended.withLock { $0 })
        #expect(buffer.add(2) == .finished)
    }
}
