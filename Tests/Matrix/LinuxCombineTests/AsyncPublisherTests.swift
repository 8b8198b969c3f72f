import LinuxCombine
import Testing

struct AsyncPublisherTests {
    @Test func valuesComeInOrderUntilTheEnd() async {
        let subject = CurrentValueSubject<Int, Never>(1)
        var iterator = subject.values.makeAsyncIterator()
        subject.send(2)
        subject.send(completion: .finished)
        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == 2)
        #expect(await iterator.next() == nil)
    }

    @Test func ofTooManyTheOldestAreDropped() async {
        let subject = PassthroughSubject<Int, Never>()
        var iterator = subject.values.makeAsyncIterator()
        for number in 0..<1_030 { subject.send(number) }
        #expect(await iterator.next() == 6)
    }

    @Test func leavingTheLoopEndsTheSubscription() async {
        final class Witness: Sendable {}
        weak var witness: Witness?
        let subject = CurrentValueSubject<Int, Never>(1)
        do {
            let held = Witness()
            witness = held
            let values = subject.map { number in withExtendedLifetime(held) { number } }.values
            for await value in values where value == 1 { break }
        }
        #expect(witness == nil)
    }
}
