import LinuxCombine
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
