import Basics
import Foundation
import LinuxCombine
import TestSupport
import Testing

private enum Trouble: Error, Equatable {
    case broken
}

struct SubjectTests {
    @Test func aPassthroughSubjectTellsOnlyWhoIsThere() {
        let subject = PassthroughSubject<Int, Never>()
        var received: [Int] = []
        subject.send(1)
        let subscription = subject.sink { received.append($0) }
        subject.send(2)
        subject.send(3)
        subscription.cancel()
        subject.send(4)
        #expect(received == [2, 3])
    }

    @Test func aCurrentValueSubjectTellsItsValueAtOnce() {
        let subject = CurrentValueSubject<String, Never>("a")
        var received: [String] = []
        subject.value = "b"
        let subscription = subject.sink { received.append($0) }
        #expect(received == ["b"])
        subject.send("c")
        #expect(received == ["b", "c"])
        #expect(subject.value == "c")
        subscription.cancel()
    }

    @Test func aCompletionIsTheLast() {
        let subject = CurrentValueSubject<Int, Trouble>(1)
        var values: [Int] = []
        var ends: [Subscribers.Completion<Trouble>] = []
        let early = subject.sink(receiveCompletion: { ends.append($0) }, receiveValue: { values.append($0) })
        subject.send(completion: .failure(.broken))
        subject.send(2)
        subject.send(completion: .finished)
        #expect(values == [1])
        #expect(ends == [.failure(.broken)])
        #expect(subject.value == 1)
        let late = subject.sink(receiveCompletion: { ends.append($0) }, receiveValue: { values.append($0) })
        #expect(values == [1])
        #expect(ends == [.failure(.broken), .failure(.broken)])
        withExtendedLifetime((early, late)) {}
    }

    @Test func lettingGoOfASubscriptionEndsIt() {
        let subject = PassthroughSubject<Int, Never>()
        var received: [Int] = []
        var subscriptions: Set<AnyCancellable> = []
        subject.sink { received.append($0) }.store(in: &subscriptions)
        subject.send(1)
        subscriptions = []
        subject.send(2)
        #expect(received == [1])
    }

    @Test func aClosureMayCancelItsOwnSubscription() {
        let subject = PassthroughSubject<Int, Never>()
        var received: [Int] = []
        var subscription: AnyCancellable?
        subscription = subject.sink { value in
            received.append(value)
            if value == 2 { subscription?.cancel() }
            subject.send(value + 1)
        }
        subject.send(1)
        #expect(received == [1, 2])
        subscription = nil
    }

    @Test func aClosureMayCancelAnother() {
        let subject = PassthroughSubject<Int, Never>()
        var received: [Int] = []
        var second: AnyCancellable?
        let first = subject.sink { _ in second?.cancel() }
        second = subject.sink { received.append($0) }
        subject.send(1)
        #expect(received.isEmpty)
        withExtendedLifetime(first) {}
    }

    @Test func whatIsSentWithinAClosureComesAfterwardsAndInOneOrderForAll() {
        let subject = PassthroughSubject<Int, Never>()
        var first: [Int] = []
        var second: [Int] = []
        var subscriptions: [AnyCancellable] = []
        subject.sink { value in
            if value < 3 { subject.send(value + 1) }
            first.append(value)
        }.store(in: &subscriptions)
        subject.sink { second.append($0) }.store(in: &subscriptions)
        subject.send(1)
        #expect(first == [1, 2, 3])
        #expect(second == [1, 2, 3])
        subscriptions = []
    }

    @Test func aClosureMaySubscribe() {
        let subject = CurrentValueSubject<Int, Never>(1)
        var inner: [Int] = []
        var subscriptions: [AnyCancellable] = []
        let outer = subject.sink { value in
            if value == 1 { subject.sink { inner.append($0) }.store(in: &subscriptions) }
        }
        subject.send(2)
        #expect(inner == [1, 2])
        outer.cancel()
        subscriptions = []
    }

    @Test func whatASinkHoldsIsLetGoOfWhenItIsCancelled() {
        final class Witness {}
        let subject = CurrentValueSubject<Int, Never>(1)
        weak var witness: Witness?
        let subscription = { () -> AnyCancellable in
            let held = Witness()
            witness = held
            return subject.sink { _ in withExtendedLifetime(held) {} }
        }()
        #expect(witness != nil)
        subscription.cancel()
        #expect(witness == nil)
    }

    @Test func aValueThatIsReplacedMayUseTheSubjectAsItGoes() {
        final class Farewell {
            let onEnd: () -> Void

            init(_ onEnd: @escaping () -> Void) {
                self.onEnd = onEnd
            }

            deinit { onEnd() }
        }
        let ends = PassthroughSubject<Int, Never>()
        var ended: [Int] = []
        let subscription = ends.sink { ended.append($0) }
        let subject = CurrentValueSubject<Farewell?, Never>(nil)
        subject.send(
            Farewell {
                _ = subject.value
                ends.send(1)
            })
        subject.send(nil)
        #expect(ended == [1])
        subscription.cancel()
    }

    @Test func threadsThatSendAtOnceAreHeardOneAtATimeInAnOrderThatAllShare() async {
        let subject = PassthroughSubject<[Int], Never>()
        let (first, second) = (Lock<[[Int]]>([]), Lock<[[Int]]>([]))
        let isBusy = Lock(false)
        let overlaps = Lock(0)
        let subscriptions = [
            subject.sink { value in
                if isBusy.withLock({ busy in
                    defer { busy = true }
                    return busy
                }) {
                    overlaps.withLock { $0 += 1 }
                }
                first.withLock { $0.append(value) }
                isBusy.withLock { $0 = false }
            },
            subject.sink { value in second.withLock { $0.append(value) } },
        ]
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<4 {
                group.addTask { for number in 0..<500 { subject.send([sender, number]) } }
            }
        }
        #expect(await eventually { first.withLock { $0.count } == 2_000 && second.withLock { $0.count } == 2_000 })
        #expect(overlaps.withLock { $0 } == 0)
        #expect(first.withLock { $0 } == second.withLock { $0 })
        for sender in 0..<4 {
            #expect(first.withLock { $0 }.filter { $0[0] == sender }.map { $0[1] } == Array(0..<500))
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onItsThreadNothingComesAfterACancellation() async {
        let subject = PassthroughSubject<Int, Never>()
        let isOver = Lock(false)
        let sender = Task.detached { while !isOver.withLock({ $0 }) { subject.send(1) } }
        for _ in 0..<200 {
            let thread = pthread_self()
            let isCancelled = Lock(false)
            let late = Lock(0)
            let subscription = subject.sink { _ in
                if pthread_equal(pthread_self(), thread) != 0, isCancelled.withLock({ $0 }) {
                    late.withLock { $0 += 1 }
                }
            }
            subject.send(2)
            subscription.cancel()
            isCancelled.withLock { $0 = true }
            subject.send(3)
            #expect(late.withLock { $0 } == 0)
        }
        isOver.withLock { $0 = true }
        await sender.value
    }

    @MainActor
    @Test func aClosureOfTheMainActorMayUseItsState() {
        @MainActor
        final class Model {
            var states: [Int] = []
            var subscriptions: Set<AnyCancellable> = []

            func follow(_ publisher: AnyPublisher<Int, Never>) {
                publisher.sink { [weak self] in self?.states.append($0) }.store(in: &subscriptions)
            }
        }
        let subject = CurrentValueSubject<Int, Never>(1)
        let model = Model()
        model.follow(subject.eraseToAnyPublisher())
        subject.send(2)
        #expect(model.states == [1, 2])
    }
}
