import Basics
import Foundation
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct EventConsumerTests {
    struct Price: Codable, Sendable, Equatable {
        let price: Int
    }

    private func makeConsumer(
        _ server: NATSServer, _ group: String? = nil, _ change: (inout EventConsumerOptions) -> Void = { _ in }
    ) throws -> EventConsumer {
        var options = EventConsumerOptions()
        (options.group, options.start) = (group, .beginning)
        change(&options)
        return EventConsumer(nats: try NATSOptions(server.url), options: options)
    }

    private func publish(
        _ connection: NATSConnection, _ prices: some Sequence<Int>, name: String = "price", term: Int = 1
    ) async throws {
        for price in prices {
            let event = RealtimeEvent(name: name, channel: "stocks", data: "{\"price\":\(price)}")
            let author = RelayMessage.Author(unit: "pusher:app:stocks", term: term, sequence: price)
            let message = RelayMessage(.event(event), source: "pusher", author: author)
            let id = "\(name)/\(term)/\(price)"
            _ = try await connection.publish(message.outgoing(prefix: "ev", messageID: id, stream: "EVENTS"))
        }
    }

    /// Acknowledges the next events, and returns their values.
    private func take(_ count: Int, of events: ConsumedEvents<Price>) async throws -> [Int] {
        var values: [Int] = []
        for await message in events {
            values.append(message.value.price)
            try await message.ack(confirming: true)
            if values.count == count { break }
        }
        return values
    }

    /// Reads until all expected events have come. Servers of version 2.9 can deliver a returned event twice, and
    /// another one only after its ack wait.
    ///
    /// - Returns: Whether no other event has come.
    private func takeAll(_ expected: Set<Int>, of events: ConsumedEvents<Price>) async throws -> Bool {
        var values: Set<Int> = []
        for await message in events {
            values.insert(message.value.price)
            try await message.ack(confirming: true)
            if values.isSuperset(of: expected) { break }
        }
        return values == expected
    }

    // MARK: Reading

    @Test func eventsOfANameComeDecoded() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...3)
        try await publish(connection, 4...4, name: "other")
        let consumer = try makeConsumer(server)
        var messages: [ConsumedEvent<Price>] = []
        for await message in consumer.events("price", as: Price.self) {
            messages.append(message)
            if messages.count == 3 { try await publish(connection, 5...5) }
            if messages.count == 4 { break }
        }
        #expect(messages.map(\.value.price) == [1, 2, 3, 5])
        #expect(messages.map(\.sequence) == [1, 2, 3, 5])
        #expect(messages.allSatisfy { $0.event.channelName == "stocks" && !$0.isRedelivered && !$0.isLate })
        #expect(messages.map(\.relaySequence) == [1, 2, 3, 5])
        #expect(abs(try #require(messages.first).time.timeIntervalSinceNow) < 60)
    }

    @Test func aConsumerBeginsWhereItIsToldTo() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...3)
        let third = try #require(await connection.leaderMessage(stream: "EVENTS", subject: "ev.pusher.stocks.price"))
        #expect(third.sequence == 3)
        #expect(
            try await take(2, of: makeConsumer(server) { $0.start = .sequence(2) }.events(as: Price.self)) == [2, 3])
        #expect(
            try await take(
                3,
                of: makeConsumer(server) { $0.start = .time(Date(timeIntervalSinceNow: -60)) }
                    .events(as: Price.self)) == [1, 2, 3])
    }

    @Test func otherChannelsAreNotRead() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...1)
        _ = try await connection.publish(.make("ev.pusher.other.price", payload: "{\"price\":2}"))
        _ = try await connection.publish(.make("ev.matrix.=21a=3Ab.price", payload: "{\"price\":3}"))
        #expect(
            try await take(1, of: makeConsumer(server) { $0.channel = "other" }.events(as: Price.self)) == [2])
        #expect(
            try await take(1, of: makeConsumer(server) { $0.channel = "matrix:!a:b" }.events(as: Price.self)) == [3])
        #expect(try await take(1, of: makeConsumer(server) { $0.source = "matrix" }.events(as: Price.self)) == [3])
    }

    @Test func nothingIsMissedWhileAConsumerIsMadeAnew() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...2)
        let consumer = try makeConsumer(server) { $0.start = .new }
        let events = consumer.events(as: Price.self)
        let values = Task { try await take(2, of: events) }
        #expect(await eventually { (try? await connection.consumerCount("EVENTS")) == 2 })
        // Like a server that dies: events before the new consumer were never requested.
        try await connection.deleteConsumers("EVENTS")
        try await publish(connection, 3...4)
        #expect(try await values.value == [3, 4])
    }

    @Test func workersShareEvenlyIfTheyFetchLittle() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let workers = try (0..<2).map { _ in try makeConsumer(server, "a") { $0.prefetch = 1 } }
        var iterators = workers.map { $0.events(as: Price.self).makeAsyncIterator() }
        try await publish(connection, 1...4)
        // Neither has acknowledged anything.
        let first = [await iterators[0].next(), await iterators[1].next()]
        #expect(Set(first.compactMap { $0?.value.price }).count == 2)
    }

    @Test func whatWasAcknowledgedIsSentBeforeTheEnd() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...50)
        let consumer = try makeConsumer(server, "a")
        var count = 0
        for await message in consumer.events(as: Price.self) {
            try await message.ack()
            count += 1
            if count == 50 { break }
        }
        await consumer.shutDown()
        #expect(try await connection.acksAwaited("EVENTS", "a") == 0)
    }

    // MARK: Groups

    @Test func aGroupGoesOnWhereItWas() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...5)
        let first = try makeConsumer(server, "a") { $0.ackWait = .seconds(2) }
        #expect(try await take(3, of: first.events("price", as: Price.self)) == [1, 2, 3])
        first.close()
        let second = try makeConsumer(server, "a")
        #expect(try await takeAll([4, 5], of: second.events("price", as: Price.self)))
    }

    @Test func eachEventGoesToOneWorker() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let workers = [try makeConsumer(server, "a"), try makeConsumer(server, "a")]
        let handled = Lock<[[Int]]>([[], []])
        let tasks = workers.enumerated().map { index, worker in
            Task {
                for await message in worker.events(as: Price.self) {
                    handled.withLock { $0[index].append(message.value.price) }
                    try await message.ack()
                }
            }
        }
        try await publish(connection, 1...300)
        #expect(await eventually { handled.withLock { $0.joined().count } == 300 })
        #expect(handled.withLock { Set($0.joined()) } == Set(1...300))
        tasks.forEach { $0.cancel() }
    }

    @Test func whatIsNotAcknowledgedComesAgain() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...2)
        let consumer = try makeConsumer(server, "a") { $0.ackWait = .seconds(1) }
        var seen: [(Int, Bool)] = []
        for await message in consumer.events(as: Price.self) {
            seen.append((message.value.price, message.isRedelivered))
            switch seen.count {
            case 1: try await message.nak()
            case 2: break
            case 3: try await message.ack(confirming: true)
            default: try await message.terminate()
            }
            if seen.count == 4 { break }
        }
        #expect(seen.map(\.0) == [1, 2, 1, 2])
        #expect(seen.map(\.1) == [false, false, true, true])
    }

    @Test func aNakCanAskForADelay() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...1)
        let consumer = try makeConsumer(server, "a")
        let clock = ContinuousClock()
        var naked: ContinuousClock.Instant?
        for await message in consumer.events(as: Price.self) {
            guard let instant = naked else {
                naked = clock.now
                try await message.nak(after: .milliseconds(300))
                continue
            }
            #expect(clock.now - instant >= .milliseconds(290))
            break
        }
    }

    @Test func inProgressKeepsAnEventFromComingAgain() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...1)
        let consumer = try makeConsumer(server, "a") { $0.ackWait = .seconds(1) }
        var iterator = consumer.events(as: Price.self).makeAsyncIterator()
        let message = try #require(await iterator.next())
        let end = ContinuousClock.now + .milliseconds(2500)
        var (last, longest) = (ContinuousClock.now, Duration.zero)
        while ContinuousClock.now < end {
            try await message.inProgress()
            try await Task.sleep(for: .milliseconds(50))
            (last, longest) = (.now, max(longest, .now - last))
        }
        try await message.ack(confirming: true)
        try await publish(connection, 2...2)
        let next = try #require(await iterator.next()).value.price
        // If the machine was too busy to report progress in time, the event came again.
        #expect(next == 2 || longest > .milliseconds(900))
    }

    @Test func whatWaitsForASlowReaderIsNotSentAgain() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...3)
        let consumer = try makeConsumer(server, "a") { $0.ackWait = .seconds(1) }
        var iterator = consumer.events(as: Price.self).makeAsyncIterator()
        let first = try #require(await iterator.next())
        try await first.ack()
        // Longer than the ack wait.
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 2 })
        let end = ContinuousClock.now + .milliseconds(2500)
        _ = await eventually { ContinuousClock.now > end }
        let rest = [await iterator.next(), await iterator.next()]
        #expect(rest.map { $0?.deliveries } == [1, 1])
    }

    @Test func whatASequenceHasNotHandedOutGoesToOthers() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...4)
        let consumer = try makeConsumer(server, "a") { $0.ackWait = .seconds(2) }
        #expect(try await take(1, of: consumer.events(as: Price.self)) == [1])
        #expect(try await takeAll([2, 3, 4], of: consumer.events(as: Price.self)))
    }

    @Test func aGroupThatVanishesGoesOnWhereItWas() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...3)
        // With its configured start, it would now begin with new events.
        let consumer = try makeConsumer(server, "a") { ($0.start, $0.prefetch) = (.new, 1) }
        let errors = consumer.errors
        let events = consumer.events(as: Price.self)
        let values = Lock<Set<Int>>([])
        let reading = Task {
            for await message in events {
                values.withLock { _ = $0.insert(message.value.price) }
                try await message.ack(confirming: true)
            }
        }
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
        try await publish(connection, 4...5)
        #expect(await eventually { values.withLock { $0 } == [4, 5] })
        // A reader waiting for the confirmation of an ack would learn that there is none, and stop reading.
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
        try await connection.deleteConsumers("EVENTS")
        try await publish(connection, 6...7)
        #expect(await eventually { values.withLock { $0 } == [4, 5, 6, 7] })
        for await error in errors {
            #expect(error.message.contains("group a was gone") && !error.willRetry)
            break
        }
        reading.cancel()
    }

    @Test(arguments: [nil, "a"])
    func aStreamThatIsMadeAnewIsReadFromItsBeginning(group: String?) async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...5)
        let consumer = try makeConsumer(server, group)
        let values = Lock<[Int]>([])
        let events = consumer.events(as: Price.self)
        let reading = Task {
            for await message in events {
                values.withLock { $0.append(message.value.price) }
                try await message.ack(confirming: true)
            }
        }
        #expect(await eventually { values.withLock { $0.count } == 5 })
        if let group { #expect(await eventually { (try? await connection.acksAwaited("EVENTS", group)) == 0 }) }
        let errors = consumer.errors
        try await connection.deleteStream("EVENTS")
        for await error in errors {
            #expect(error.message.contains("there is no stream EVENTS") && error.willRetry)
            break
        }
        _ = try await connection.setUp(.events(replicas: 1, maximumBytes: 64 << 20))
        try await publish(connection, 6...7, term: 2)
        #expect(await eventually { values.withLock { $0 } == [1, 2, 3, 4, 5, 6, 7] })
        reading.cancel()
    }

    @Test func whatAWorkerHasFetchedGoesToOthersAtOnceWhenItIsCancelled() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...400)
        // Longer than any wait of the test.
        let first = try makeConsumer(server, "a") { $0.ackWait = .seconds(300) }
        let events = first.events(as: Price.self)
        let count = Lock(0)
        let reading = Task {
            for await message in events {
                try await message.ack(confirming: true)
                count.withLock { $0 += 1 }
                if count.withLock({ $0 }) == 20 { try await Task.sleep(for: .seconds(300)) }
            }
        }
        #expect(await eventually { count.withLock { $0 } == 20 })
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) ?? 0 > 100 })
        reading.cancel()
        _ = await reading.result
        await first.shutDown()
        let second = try makeConsumer(server, "a")
        var values: Set<Int> = []
        for await message in second.events(as: Price.self) {
            values.insert(message.value.price)
            try await message.ack()
            if values.count == 380 { break }
        }
        #expect(values == Set(21...400))
    }

    @Test func nothingIsFetchedEarlyWithoutPrefetch() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let workers = try (0..<2).map { _ in try makeConsumer(server, "a") { $0.prefetch = 0 } }
        var first = workers[0].events(as: Price.self).makeAsyncIterator()
        try await publish(connection, 1...1)
        #expect(await first.next()?.value.price == 1)  // and stays in progress forever
        var second = workers[1].events(as: Price.self).makeAsyncIterator()
        try await publish(connection, 2...4)
        #expect([await second.next(), await second.next(), await second.next()].map { $0?.value.price } == [2, 3, 4])
    }

    @Test func gapsComeAmongTheEventsIfTheyAreWanted() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...1)
        let gap = RelayGap(channel: "stocks", start: 1_000, end: 3_500, reason: "takeover")
        let author = RelayMessage.Author(unit: "pusher:app:stocks", term: 1, sequence: 2)
        _ = try await connection.publish(
            RelayMessage(.gap(gap), source: "pusher", author: author, time: 3_500)
                .outgoing(prefix: "ev", messageID: "gap", stream: "EVENTS"))
        try await publish(connection, 3...3)
        for (includesGaps, expected) in [(true, ["price", "relay:gap", "price"]), (false, ["price", "price"])] {
            var names: [String] = []
            for await message in try makeConsumer(server).events(includingGaps: includesGaps) {
                names.append(message.event.eventName)
                if let gap = message.gap {
                    #expect(gap.reason == "takeover" && gap.end.timeIntervalSince(gap.start) == 2.5)
                    #expect(message.event.channelName == "stocks")
                    #expect(message.relayTime == gap.end)
                }
                if message.sequence == 3 { break }
            }
            #expect(names == expected)
        }
    }

    @Test func aMissingStreamEndsTheReader() async throws {
        let server = try await NATSServer()
        let consumer = try makeConsumer(server)
        let errors = consumer.errors
        for await _ in consumer.events() {}
        for await error in errors {
            #expect(error.message == "there is no stream EVENTS: set it up first" && !error.willRetry)
            break
        }
    }

    /// The stream ends before the reader's place, or has another message there. Either way, all of it is new.
    @Test(arguments: [(5, 2), (5, 8), (5, 5), (1, 1)])
    func whatAStreamHasThatWasMadeAnewInstantlyIsNotSkipped(old: Int, count: Int) async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...old)
        let consumer = try makeConsumer(server)
        var iterator = consumer.events("price", as: Price.self).makeAsyncIterator()
        for price in 1...old { #expect(await iterator.next()?.value.price == price) }
        try await connection.deleteStream("EVENTS")
        _ = try await connection.setUp(.events(replicas: 1, maximumBytes: 1 << 20))
        let new = 11..<11 + count
        try await publish(connection, new)
        var prices: Set<Int> = []
        while prices.count < count, let price = await iterator.next()?.value.price { prices.insert(price) }
        #expect(prices == Set(new))
    }

    @Test func aGroupWhoseStartIsBehindTheEndGetsWhatIsNew() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...3)
        let consumer = try makeConsumer(server, "a") { $0.start = .sequence(1000) }
        let events = consumer.events(as: Price.self)
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
        try await publish(connection, 4...4)
        #expect(try await take(1, of: events) == [4])
    }

    /// Slightly earlier events may come again, because the clocks of servers differ.
    @Test func aGroupThatIsMadeAgainWithoutAnyAckMissesNothing() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...3)
        // It requests no more than it has.
        let first = try makeConsumer(server, "a") { ($0.start, $0.prefetch) = (.new, 2) }
        let kept = first.events()
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
        try await publish(connection, 4...5)
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 2 })
        // It has seen nothing else of the group.
        let second = try makeConsumer(server, "a") { $0.start = .new }
        let reports = second.errors
        let prices = Lock<Set<Int>>([])
        let reading = Task {
            for await message in second.events(as: Price.self) {
                _ = prices.withLock { $0.insert(message.value.price) }
            }
        }
        try await publish(connection, 6...6)
        #expect(await eventually { prices.withLock { $0.contains(6) } })
        first.close()
        try await connection.deleteConsumers("EVENTS")
        #expect(await eventually { prices.withLock { $0.isSuperset(of: [4, 5, 6]) } }, "\(prices.withLock { $0 })")
        reading.cancel()
        (_, _) = (kept, reports)
    }

    /// A group made with a different ack wait keeps it, and its events report it.
    @Test func theWaitForAnAckIsThatOfTheGroup() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let first = try makeConsumer(server, "a") { $0.ackWait = .milliseconds(500) }
        let kept = first.events()
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
        first.close()
        let second = try makeConsumer(server, "a") { $0.ackWait = .seconds(30) }
        try await publish(connection, 1...2)
        for await message in second.events(as: Price.self) {
            #expect(message.ackWait == .milliseconds(500))
            try await message.ack()
            if message.value.price == 2 { break }
        }
        _ = kept
    }

    @Test func optionsThatCannotWorkAreToldAndEndTheReader() async throws {
        let wrong: [(inout EventConsumerOptions) -> Void] = [
            { $0.stream = "KV_RELAY" }, { $0.prefix = "a b" }, { $0.subject = "ev.a b" }, { $0.subject = "other.>" },
            { $0.group = "" }, { $0.channel = "" }, { $0.source = "" }, { $0.maximumDeliveries = 0 },
        ]
        let server = try await NATSServer()
        _ = try await server.connectWithStreams()
        for change in wrong {
            let consumer = try makeConsumer(server, nil, change)
            let errors = consumer.errors
            for await _ in consumer.events() {}
            for await error in errors {
                #expect((error.underlying as? NATSError)?.kind == .invalidArgument)
                break
            }
        }
    }

    @Test func aGroupWithAnotherFilterIsToldAsAnError() async throws {
        let server = try await NATSServer()
        _ = try await server.connectWithStreams()
        let first = try makeConsumer(server, "a") { $0.channel = "x" }
        let reading = first.events()
        let connection = try await server.connect()
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
        let second = try makeConsumer(server, "a") { $0.channel = "y" }
        let errors = second.errors
        var iterator = second.events().makeAsyncIterator()
        #expect(await iterator.next() == nil)
        for await error in errors {
            #expect((error.underlying as? NATSError)?.kind == .differentSettings && !error.willRetry)
            break
        }
        _ = reading
    }

    // MARK: Failing events

    @Test func anEventThatNobodyHandlesBecomesADeadLetter() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        _ = try await connection.setUp(.deadLetters(replicas: 1, maximumBytes: 1 << 20))
        try await publish(connection, 1...1)
        let consumer = try makeConsumer(server, "a") { $0.maximumDeliveries = 2 }
        let errors = consumer.errors
        let deliveries = Lock<[Int]>([])
        let reading = Task {
            for await message in consumer.events(as: Price.self) {
                deliveries.withLock { $0.append(message.deliveries) }
                try await message.nak()
            }
        }
        #expect(await eventually { (try? await connection.streamStatus("DEAD"))??.messages == 1 })
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
        #expect(deliveries.withLock { $0 } == [1, 2])
        let letter = try await connection.leaderMessage(stream: "DEAD", subject: "dead.a.ev.pusher.stocks.price")
        #expect(letter?.payload == Array("{\"price\":1}".utf8))
        for await error in errors {
            #expect(error.message.contains("dead.a.ev.pusher.stocks.price") && !error.willRetry)
            break
        }
        reading.cancel()
    }

    @Test func dataOfAnotherFormIsPutAsideAndReported() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        _ = try await connection.setUp(.deadLetters(replicas: 1, maximumBytes: 1 << 20))
        _ = try await connection.publish(.make("ev.pusher.stocks.price", payload: "{\"price\":\"s3cret\"}"))
        try await publish(connection, 2...2)
        let consumer = try makeConsumer(server, "a")
        let errors = consumer.errors
        #expect(try await take(1, of: consumer.events(as: Price.self)) == [2])
        for await error in errors {
            #expect(error.message.contains("no Int at price") && !error.message.contains("s3cret"))
            break
        }
        #expect(try await connection.streamStatus("DEAD")?.messages == 1)
    }

    @Test func withoutAStreamForDeadLettersNothingIsLost() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        _ = try await connection.publish(.make("ev.pusher.stocks", payload: "nonsense"))
        let consumer = try makeConsumer(server, "a")
        let errors = consumer.errors
        let reading = Task { try await take(1, of: consumer.events(as: Price.self)) }
        for await error in errors {
            #expect(error.message.contains("cannot be made a dead letter") && error.willRetry)
            break
        }
        #expect(try await connection.acksAwaited("EVENTS", "a") == 1)
        reading.cancel()
    }

    @Test func whatCannotBeReadCanBeTerminated() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        _ = try await connection.publish(.make("ev.pusher.stocks", payload: "nonsense"))
        try await publish(connection, 2...2)
        let consumer = try makeConsumer(server, "a") { $0.undecodable = .terminate }
        #expect(try await take(1, of: consumer.events(as: Price.self)) == [2])
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "a")) == 0 })
    }

    // MARK: Old owners

    @Test func whatAnOldOwnerWritesLateIsDropped() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await publish(connection, 1...2)
        let slot = Slot(of: "pusher:app:stocks")
        let fence = RelayMessage.fence(slot, term: 2, by: RelayID(name: "b", random: 2))
        let id = MessageID.fence(prefix: "ev", slot: slot, term: 2)
        _ = try await connection.publish(fence.outgoing(prefix: "ev", messageID: id, stream: "EVENTS"))
        try await publish(connection, 3...3)
        try await publish(connection, 4...4, term: 2)
        for group in [nil, "a"] {
            let consumer = try makeConsumer(server, group)
            #expect(try await take(3, of: consumer.events("price", as: Price.self)) == [1, 2, 4])
            #expect(consumer.lateEventCount == 1)
        }
        let flagging = try makeConsumer(server) { $0.late = .flag }
        var late: [Int: Bool] = [:]
        for await message in flagging.events("price", as: Price.self) {
            late[message.value.price] = message.isLate
            if message.value.price == 4 { break }
        }
        #expect(late == [1: false, 2: false, 3: true, 4: false])
    }
}
