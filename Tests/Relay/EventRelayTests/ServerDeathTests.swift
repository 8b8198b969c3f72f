import Basics
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

/// Three replicating servers, killed one at a time. The long form is `make -C Lab relay-test`.
@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .serialized)
struct ServerDeathTests {
    /// Resends failed messages with the same IDs, a few at a time.
    private final class Sender: Sendable {
        private struct State {
            var waiting: [UInt64]
            var flight: Set<UInt64> = []
            var sequences: [UInt64: UInt64] = [:]
        }

        private let state: Lock<State>

        init(_ count: Int) { state = Lock(State(waiting: Array(0..<UInt64(count)))) }

        var isDone: Bool { state.withLock { $0.waiting.isEmpty && $0.flight.isEmpty } }
        var sequences: [UInt64: UInt64] { state.withLock { $0.sequences } }

        func add(_ results: JetStreamPublisher.Results) {
            state.withLock { state in
                for (token, outcome) in results {
                    state.flight.remove(token)
                    switch outcome {
                    case .stored(let stored): state.sequences[token] = stored.sequence
                    case .failed: state.waiting.append(token)
                    }
                }
            }
        }

        func next() -> [UInt64] {
            state.withLock { state in
                let next = state.waiting.sorted().prefix(max(0, 50 - state.flight.count))
                state.waiting.removeAll { next.contains($0) }
                state.flight.formUnion(next)
                return Array(next)
            }
        }
    }

    @Test(.timeLimit(.minutes(4))) func nothingIsLostWhenServersDie() async throws {
        let servers = try await NATSServer.cluster()
        var options = try NATSOptions(servers.map(\.url).joined(separator: ","))
        options.name = "test"
        let connection = NATSConnection(options)
        connection.start()
        #expect(
            await eventually {
                (try? await connection.setUp(.events(replicas: 3, maximumBytes: 64 << 20))) != nil
            })
        var reading = EventConsumerOptions()
        (reading.group, reading.start, reading.ackWait) = ("workers", .beginning, .seconds(5))
        let consumer = EventConsumer(nats: options, options: reading)
        let handled = Lock<[UInt64: Int]>([:])
        let worker = Task {
            for await message in consumer.events() {
                handled.withLock { $0[message.sequence, default: 0] += 1 }
                try? await message.ack()
            }
        }
        let count = 3000
        let sender = Sender(count)
        let publisher = JetStreamPublisher(connection) { sender.add($0) }
        let sending = Task {
            while !sender.isDone {
                let next = sender.next()
                publisher.publish(next.map { (Int($0), .make("ev.pusher.c\($0 % 10).e", id: "m\($0)")) })
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        for round in 0..<2 {
            #expect(await eventually { sender.sequences.count >= (round + 1) * count / 4 })
            let leader = try? await connection.streamStatus("EVENTS")?.leader
            let index = leader.flatMap { Int($0.dropFirst()) } ?? round
            servers[index].kill()
            try servers[index].start()
            // All servers must have everything before the next kill.
            #expect(
                await eventually {
                    (try? await connection.streamStatus("EVENTS"))??.currentReplicas == 2
                })
        }
        #expect(await eventually { sender.isDone })
        try await sending.value
        let sequences = sender.sequences
        #expect(Set(sequences.values).count == count)
        #expect(await eventually { handled.withLock { Set($0.keys) } == Set(sequences.values) })
        worker.cancel()
        consumer.close()
        connection.close()
    }

    /// Without the message id, both win in a fifth of the rounds or more on servers before 2.9.21
    /// (Documentation/Rules/relay.md, "Server versions").
    @Test(.timeLimit(.minutes(2))) func oneOfTwoConditionalWritesWinsAndIsReadEverywhere() async throws {
        let servers = try await NATSServer.cluster()
        var connections: [NATSConnection] = []
        for server in servers { connections.append(try await server.connect()) }
        let (one, two, three) = (connections[0], connections[1], connections[2])
        #expect(await eventually { (try? await one.setUp(.records(replicas: 3))) != nil })
        let subject = "$KV.RELAY.s.1"
        var revision: UInt64 = 0
        for round in 0..<150 {
            let write = OutgoingMessage(
                subject: subject, payload: Array("\(round)".utf8), messageID: "s.1@\(revision)",
                expectedStream: "KV_RELAY")
            let expected = revision
            @Sendable func won(_ connection: NATSConnection) async -> UInt64? {
                let stored = try? await connection.publish(write, expectedLastSubjectSequence: expected)
                return stored.flatMap { $0.isDuplicate ? nil : $0.sequence }
            }
            async let first = won(one)
            async let second = won(two)
            let winners = [await first, await second].compactMap(\.self)
            try #require(winners.count == 1, "round \(round)")
            // A get of a bucket would often return the last revision here.
            let read = try await three.leaderMessage(stream: "KV_RELAY", subject: subject)
            try #require(read?.sequence == winners[0])
            revision = winners[0]
        }
    }

    @Test(.timeLimit(.minutes(2))) func aConsumersServerDies() async throws {
        let servers = try await NATSServer.cluster()
        let options = try NATSOptions(servers.map(\.url).joined(separator: ","))
        let connection = NATSConnection(options)
        connection.start()
        #expect(
            await eventually {
                (try? await connection.setUp(.events(replicas: 3, maximumBytes: 64 << 20))) != nil
            })
        // Each reader has its own consumer, which is on one server and dies with it.
        var reading = EventConsumerOptions()
        reading.start = .beginning
        let consumer = EventConsumer(nats: options, options: reading)
        let seen = Lock<[UInt64]>([])
        let reader = Task { for await message in consumer.events() { seen.withLock { $0.append(message.sequence) } } }
        var next = 0
        func publish(_ count: Int) async throws {
            let end = next + count
            while next < end {
                let id = "m\(next)"
                #expect(await eventually { (try? await connection.publish(.make(id: id))) != nil })
                next += 1
            }
        }
        try await publish(100)
        #expect(await eventually { seen.withLock { $0.count } == 100 })
        for server in servers {
            server.kill()
            try await publish(50)
            let expected = next
            #expect(await eventually { seen.withLock { $0.count } >= expected })
            try server.start()
            #expect(
                await eventually { (try? await connection.streamStatus("EVENTS"))??.currentReplicas == 2 })
        }
        // In order, and each exactly once.
        let isInOrder = seen.withLock { $0 == Array(1...UInt64(next)) }
        #expect(isInOrder)
        reader.cancel()
        consumer.close()
        connection.close()
    }
}
