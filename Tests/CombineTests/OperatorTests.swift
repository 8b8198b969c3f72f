import Combine
import Testing

struct OperatorTests {
    @Test func operatorsAreAppliedInOrder() {
        let subject = PassthroughSubject<Int, Never>()
        var received: [String] = []
        let subscription = subject.map { $0 / 2 }.removeDuplicates().filter { $0 != 2 }.map { "\($0)" }
            .eraseToAnyPublisher().sink { received.append($0) }
        for number in 0..<8 { subject.send(number) }
        #expect(received == ["0", "1", "3"])
        subscription.cancel()
    }

    @Test func eachSinkHasItsOwnMemoryOfDuplicates() {
        let subject = CurrentValueSubject<Int, Never>(1)
        let distinct = subject.removeDuplicates()
        var first: [Int] = []
        var second: [Int] = []
        var subscriptions: [AnyCancellable] = []
        distinct.sink { first.append($0) }.store(in: &subscriptions)
        subject.send(1)
        distinct.sink { second.append($0) }.store(in: &subscriptions)
        subject.send(2)
        #expect(first == [1, 2])
        #expect(second == [1, 2])
        subscriptions = []
    }

    @Test func completionsPassOperators() {
        let subject = PassthroughSubject<Int, Never>()
        var isFinished = false
        let subscription = subject.map { $0 }.filter { _ in false }.removeDuplicates().sink(
            receiveCompletion: { isFinished = $0 == .finished }, receiveValue: { _ in })
        subject.send(completion: .finished)
        #expect(isFinished)
        subscription.cancel()
    }
}

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
