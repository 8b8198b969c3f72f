import Basics
import TestSupport
import Testing

@testable import Realtime

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

    /// A waiting reader that is woken once a batch.
    private func waitingReader(
        _ policy: EventBufferingPolicy, onRoom: @escaping @Sendable () -> Void = {}
    ) async -> (EventBuffer<Int>, ReaderWakeUps, Task<[Int], Never>) {
        let wakeUps = ReaderWakeUps()
        let buffer = EventBuffer<Int>(policy: policy, wakeUps: wakeUps, onRoom: onRoom)
        let reader = Task {
            var seen: [Int] = []
            while let number = await buffer.next() { seen.append(number) }
            return seen
        }
        #expect(await eventually { buffer.isAwaited })
        return (buffer, wakeUps, reader)
    }

    @Test func aWaitingReaderIsWokenOnceABatch() async {
        let (buffer, wakeUps, reader) = await waitingReader(.default)
        #expect((1...5).map(buffer.add) == [.buffered, .buffered, .buffered, .buffered, .buffered])
        #expect(buffer.isAwaited && buffer.count == 5)
        wakeUps.run()
        #expect(await eventually { buffer.count == 0 && buffer.isAwaited })
        buffer.finish()
        #expect(await reader.value == [1, 2, 3, 4, 5])
    }

    @Test func whatArrivedBeforeTheEndIsReadThoughNobodyHasWokenTheReader() async {
        let (buffer, wakeUps, reader) = await waitingReader(.default)
        for number in 1...5 { #expect(buffer.add(number) == .buffered) }
        buffer.finish()
        wakeUps.run()
        #expect(await reader.value == [1, 2, 3, 4, 5])
    }

    @Test func whoKeepsUpStopsNobody() async {
        let rooms = Lock(0)
        let (buffer, wakeUps, reader) = await waitingReader(.suspend(limit: 1)) { rooms.withLock { $0 += 1 } }
        for number in 1...20 {
            #expect(buffer.add(number) == .buffered)
            wakeUps.run()
            #expect(await eventually { buffer.isAwaited })
        }
        buffer.finish()
        #expect(await reader.value == Array(1...20))
        #expect(rooms.withLock { $0 } == 0)
    }

    @Test func nothingIsLostBetweenTwoThreads() async {
        let buffer = EventBuffer<Int>(policy: .default)
        let writer = Task.detached {
            for number in 1...20_000 {
                _ = buffer.add(number)
                if number.isMultiple(of: 100) { await Task.yield() }
            }
            buffer.finish()
        }
        var next = 1
        while let number = await buffer.next() {
            #expect(number == next)
            next += 1
        }
        await writer.value
        #expect(next == 20_001)
    }

    /// ``EventBuffer/next()`` has found nothing, and checks once more before it waits.
    @Test func whatComesJustBeforeTheReaderWaitsIsRead() async {
        let rooms = Lock(0)
        let buffer = EventBuffer<Int>(policy: .suspend(limit: 2)) { rooms.withLock { $0 += 1 } }
        #expect((1...2).map(buffer.add) == [.buffered, .full])
        #expect(await buffer.wait() == 1)
        #expect(rooms.withLock { $0 } == 1)
        #expect(await buffer.wait() == 2)
        buffer.finish()
        #expect(await buffer.wait() == nil)
    }

    /// Also after the buffer has shrunk as elements were taken.
    @Test func manyElementsComeOutInOrderWhileOthersComeIn() async {
        let buffer = EventBuffer<Int>(policy: .dropOldest(limit: 1000))
        var next = 1
        for number in 1...3000 {
            #expect(buffer.add(number) == .buffered)
            if number > 700 {
                #expect(await buffer.next() == next)
                next += 1
            }
        }
        #expect(buffer.count == 700)
    }

    @Test(arguments: [0, -1])
    func aBufferHoldsAtLeastOneElement(limit: Int) async {
        let suspending = EventBuffer<Int>(policy: .suspend(limit: limit))
        #expect((1...2).map(suspending.add) == [.full, .buffered])
        let dropping = EventBuffer<Int>(policy: .dropOldest(limit: limit))
        #expect((1...2).map(dropping.add) == [.buffered, .droppedOldest])
        #expect(await dropping.next() == 2)
    }

    /// Like without a waiting reader. Policies that must not wait for a wake-up have none.
    @Test(arguments: [EventBufferingPolicy.dropOldest(limit: 2), .fail(limit: 2)])
    func whereElementsMayBeLostAReaderIsWokenAtOnce(policy: EventBufferingPolicy) async {
        let (buffer, _, reader) = await waitingReader(policy)
        for number in 1...5 {
            #expect(buffer.add(number) == .buffered)
            #expect(await eventually { buffer.isAwaited })
        }
        buffer.finish()
        #expect(await reader.value == [1, 2, 3, 4, 5])
    }

    @Test func whoWaitsIsWokenByTheEnd() async {
        let (buffer, wakeUps, reader) = await waitingReader(.default)
        buffer.close()
        #expect(buffer.add(1) == .finished)
        wakeUps.run()
        #expect(await reader.value == [])
        #expect(!buffer.isAwaited)
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

    @Test func finishingAFullBufferMakesRoom_andWhatWaitsCanStillBeRead() async {
        let rooms = Lock(0)
        let buffer = EventBuffer<Int>(policy: .suspend(limit: 2)) { rooms.withLock { $0 += 1 } }
        #expect((1...2).map(buffer.add) == [.buffered, .full])
        buffer.finish()
        #expect(rooms.withLock { $0 } == 1)
        #expect(await buffer.next() == 1)
        #expect(await buffer.next() == 2)
        #expect(await buffer.next() == nil)
        #expect(rooms.withLock { $0 } == 1)
    }

    @Test func aCancelledReaderOfAFullBufferMakesRoom_andGetsNothingMore() async {
        let rooms = Lock(0)
        let buffer = EventBuffer<Int>(policy: .suspend(limit: 2)) { rooms.withLock { $0 += 1 } }
        #expect((1...2).map(buffer.add) == [.buffered, .full])
        let (stream, isCancelled) = AsyncStream<Never>.makeStream()
        let task = Task {
            for await _ in stream {}
            return await buffer.next()
        }
        task.cancel()
        isCancelled.finish()
        #expect(await task.value == nil)
        #expect(rooms.withLock { $0 } == 1)
        #expect(buffer.add(3) == .finished)
        #expect(buffer.count == 0)
    }

    // MARK: Kept elements

    /// An application's value that uses its buffer when it is released.
    private final class Value: Sendable {
        private let onRelease: @Sendable () -> Void

        init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

        deinit { onRelease() }
    }

    /// Releasing them under a lock stops the program in debug builds.
    @Test(arguments: [.suspend(limit: 400), .dropOldest(limit: 2), .fail(limit: 400)] as [EventBufferingPolicy])
    func valuesAreReleasedAtOnceAndWithoutTheLock(policy: EventBufferingPolicy) async {
        let released = Lock(0)
        let buffer = EventBuffer<Value>(policy: policy)
        let count = 400
        for _ in 0..<count {
            _ = buffer.add(
                Value { [weak buffer] in
                    _ = buffer?.count
                    released.withLock { $0 += 1 }
                })
        }
        #expect(released.withLock { $0 } == count - buffer.count)
        while buffer.count > 1 {
            _ = await buffer.next()
            #expect(released.withLock { $0 } == count - buffer.count)
        }
        _ = buffer.takeWaiting(limit: 1)
        #expect(released.withLock { $0 } == count)
    }

    @Test func aValueMayEndItsSequenceWhenItIsReleased() async {
        let buffer = EventBuffer<Value>(policy: .dropOldest(limit: 1))
        let sequence = EventSequence(buffer) { [weak buffer] in buffer?.close() }
        let added = buffer.add(Value { [weak buffer] in buffer?.close() })
        let last = buffer.add(Value {})
        #expect(added == .buffered && last == .droppedOldest)
        for await _ in sequence { Issue.record("a value of a sequence that has ended") }
    }

    /// A small event from a read of 64 KiB.
    private func smallEvent(in read: [UInt8], at start: Int = 0) -> RealtimeEvent {
        RealtimeEvent(bytes: read, range: start..<start + 50, layout: RealtimeEvent.Layout(), dataEnd: 0)
    }

    /// The bytes that events keep in memory, counting each read once.
    private func bytesKept(by events: [RealtimeEvent]) -> Int {
        let reads = events.map { event in event.bytes.withUnsafeBytes { (UInt(bitPattern: $0.baseAddress), $0.count) } }
        return Dictionary(reads) { count, _ in count }.values.reduce(0, +)
    }

    @Test(arguments: [.suspend(limit: 3000), .dropOldest(limit: 2000), .fail(limit: 3000)] as [EventBufferingPolicy])
    func smallEventsThatWaitDoNotKeepTheirReads(policy: EventBufferingPolicy) {
        let buffer = EventBuffer<RealtimeEvent>(policy: policy)
        for number in 0..<2500 {
            let read = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 64 << 10)
            let added = buffer.add(event: smallEvent(in: read, at: 1000))
            #expect(added == .buffered || added == .droppedOldest)
        }
        let events = buffer.takeWaiting(limit: .max)
        #expect(bytesKept(by: events) <= 1 << 20 + 2500 * 50)
        let first = 2500 - events.count
        for (number, event) in zip(first..., events) {
            #expect(event.frame?.count == 50)
            #expect(event.frame?.allSatisfy { $0 == UInt8(truncatingIfNeeded: number) } == true)
        }
    }

    /// Copying would make each event cost more.
    @Test func eventsOfFewReadsAreNotCopied() {
        let buffer = EventBuffer<RealtimeEvent>(policy: .suspend(limit: 3000))
        for _ in 0..<10 {
            let read = [UInt8](repeating: 0, count: 64 << 10)
            for number in 0..<200 { #expect(buffer.add(event: smallEvent(in: read, at: 50 * number)) == .buffered) }
        }
        #expect(buffer.takeWaiting(limit: .max).allSatisfy { $0.bytes.count == 64 << 10 })
    }

    @Test func eventsThatAreMostOfTheirReadCountAsTheWholeRead() {
        let buffer = EventBuffer<RealtimeEvent>(policy: .suspend(limit: 3000))
        let size = 1 << 20
        func add() -> EventBuffer<RealtimeEvent>.Added {
            let read = [UInt8](repeating: 0, count: size)
            return buffer.add(
                event: RealtimeEvent(bytes: read, range: 0..<size * 2 / 3, layout: RealtimeEvent.Layout(), dataEnd: 0))
        }
        for _ in 1..<64 { #expect(add() == .buffered) }
        #expect(add() == .full)
    }

    // MARK: Sequences

    /// A sequence over a full buffer.
    private struct Scene {
        let buffer: EventBuffer<Int>
        let rooms = Lock(0)
        let ends = Lock(0)

        init() {
            let rooms = rooms
            buffer = EventBuffer(policy: .suspend(limit: 4)) { rooms.withLock { $0 += 1 } }
            #expect((1...4).map(buffer.add) == [.buffered, .buffered, .buffered, .full])
        }

        var sequence: EventSequence<Int> { EventSequence(buffer) { [ends] in ends.withLock { $0 += 1 } } }

        var isOver: Bool { rooms.withLock { $0 } == 1 && ends.withLock { $0 } > 0 && buffer.add(0) == .finished }
    }

    @Test func leavingTheLoopEndsASequence_thoughSomebodyKeepsIt() async {
        let scene = Scene()
        let sequence = scene.sequence
        for await element in sequence {
            #expect(element == 1)
            break
        }
        #expect(scene.isOver)
        for await _ in sequence { Issue.record("an element of a sequence that has ended") }
    }

    /// Iterates without `for await`, on any actor.
    @Test func whoeverAsksByHandGetsAllToTheEnd_whichUnbinds() async {
        for isIsolated in [true, false] {
            let scene = Scene()
            let sequence = scene.sequence
            var iterator = sequence.makeAsyncIterator()
            func next() async -> Int? {
                isIsolated ? await iterator.next(isolation: #isolation) : await iterator.next()
            }
            for number in 1...4 { #expect(await next() == number) }
            #expect(scene.ends.withLock { $0 } == 0)
            scene.buffer.finish()
            #expect(await next() == nil)
            #expect(scene.ends.withLock { $0 } == 1)
            withExtendedLifetime((sequence, iterator)) {}
        }
    }

    @Test func droppingASequenceThatNobodyHasReadEndsIt() {
        let scene = Scene()
        var sequence: EventSequence<Int>? = scene.sequence
        #expect(!scene.isOver)
        _ = sequence
        sequence = nil
        #expect(scene.isOver)
    }

    /// An iterator is a value: it may be copied, and may outlive the sequence.
    @Test func theLastCopyOfAnIteratorEndsASequence() async {
        let scene = Scene()
        var first: EventSequence<Int>.AsyncIterator? = scene.sequence.makeAsyncIterator()
        var second = first
        first = nil
        #expect(await second?.next() == 1)
        #expect(scene.ends.withLock { $0 } == 0)
        second = nil
        #expect(scene.isOver)
    }

    @Test func cancellingTheReaderEndsASequence_thoughSomebodyKeepsIt() async {
        let scene = Scene()
        let sequence = scene.sequence
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for await _ in sequence { Issue.record("an element for a reader that is cancelled") }
        }
        await task.value
        #expect(scene.isOver)
        withExtendedLifetime(sequence) {}
    }

    /// The server chooses the size of events.
    @Test func largeElementsFillABufferBeforeManyDo() async {
        let room = Lock(0)
        let buffer = EventBuffer<Int>(policy: .suspend(limit: 1000)) { room.withLock { $0 += 1 } }
        #expect((1...6).map { buffer.add($0, byteCount: 10 << 20) } == .init(repeating: .buffered, count: 6))
        #expect(buffer.add(7, byteCount: 10 << 20) == .full)
        for number in 1...3 { #expect(await buffer.next() == number) }
        #expect(room.withLock { $0 } == 0)
        #expect(await buffer.next() == 4)
        #expect(room.withLock { $0 } == 1)

        let dropping = EventBuffer<Int>(policy: .dropOldest(limit: 1000))
        for number in 1...6 { #expect(dropping.add(number, byteCount: 10 << 20) == .buffered) }
        #expect(dropping.add(7, byteCount: 25 << 20) == .droppedOldest)
        #expect(await dropping.next() == 4)
        #expect(dropping.add(8, byteCount: 100 << 20) == .droppedOldest)
        #expect(await dropping.next() == 8)

        let failing = EventBuffer<Int>(policy: .fail(limit: 1000))
        #expect(failing.add(1, byteCount: 100 << 20) == .buffered)
        #expect(failing.add(2, byteCount: 1) == .overflowed)
    }

    @Test func sixtyFourMebibytesMayWait_andNotAByteMore() {
        let suspending = EventBuffer<Int>(policy: .suspend(limit: 1000))
        #expect(suspending.add(1, byteCount: 64 << 20 - 1) == .buffered)
        #expect(suspending.add(2, byteCount: 1) == .full)

        let dropping = EventBuffer<Int>(policy: .dropOldest(limit: 1000))
        #expect((1...2).map { dropping.add($0, byteCount: 32 << 20) } == [.buffered, .buffered])
        #expect(dropping.add(3, byteCount: 1) == .droppedOldest)

        let failing = EventBuffer<Int>(policy: .fail(limit: 1000))
        #expect((1...2).map { failing.add($0, byteCount: 32 << 20) } == [.buffered, .buffered])
        #expect(failing.add(3, byteCount: 1) == .overflowed)
    }
}
