import Basics
import PusherSwift
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct ConsumerBindingTests {
    private func makeConsumer(_ server: NATSServer) throws -> EventConsumer {
        var options = EventConsumerOptions()
        (options.group, options.start) = ("bindings", .beginning)
        return EventConsumer(nats: try NATSOptions(server.url), options: options)
    }

    private func publish(_ connection: NATSConnection, _ name: String, on channel: String) async throws {
        let source = channel.hasPrefix("matrix:") ? "matrix" : "pusher"
        let event = RealtimeEvent(name: name, channel: channel, data: "1", userId: "u")
        let message = RelayMessage(.event(event), source: source)
        _ = try await connection.publish(
            message.outgoing(prefix: "ev", messageID: "\(channel.count)/\(name)", stream: "EVENTS"))
    }

    @Test func bindingsGetEventsOfTheirChannels() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let consumer = try makeConsumer(server)
        let seen = Lock<[String]>([])
        consumer.bind { event in seen.withLock { $0.append("all \(event.channelName ?? "-") \(event.eventName)") } }
        let binding = consumer.channel("price").bind("update") { event in
            seen.withLock {
                $0.append("update \(event.channelName ?? "-") \(event.data ?? "-") \(event.userId ?? "-")")
            }
        }
        consumer.channel("matrix:!r:x").bind { event in seen.withLock { $0.append("room \(event.eventName)") } }
        consumer.start()
        try await publish(connection, "update", on: "price")
        try await publish(connection, "other", on: "price")
        try await publish(connection, "m.room.message", on: "matrix:!r:x")
        #expect(await eventually { seen.withLock { $0.count } == 5 })
        #expect(
            seen.withLock { $0 } == [
                "all price update", "update price 1 u", "all price other", "all matrix:!r:x m.room.message",
                "room m.room.message",
            ])
        // Acknowledged after the bindings ran.
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "bindings")) == 0 })
        consumer.unbind(binding)
        try await publish(connection, "update", on: "price2")
        #expect(await eventually { seen.withLock { $0.count } == 6 })
        consumer.close()
    }

    @Test func aClientGetsTheEventsOfAnAttachedConsumer() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let consumer = try makeConsumer(server)
        let pusher = Pusher(key: "key")
        pusher.attach(consumer)
        let seen = Lock<[String]>([])
        pusher.channel("relay:price")?.bind(eventName: "update") { (event: PusherEvent) in
            seen.withLock { $0.append(event.channelName ?? "-") }
        }
        consumer.start()
        try await publish(connection, "update", on: "price")
        #expect(await eventually { seen.withLock { $0 } == ["relay:price"] })
        pusher.detach(consumer)
        consumer.close()
    }

    @Test func aGapOfARelayIsTold() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let consumer = try makeConsumer(server)
        let gaps = consumer.gaps
        consumer.start()
        let gap = RelayGap(channel: "price", start: 1000, end: 3500, reason: "takeover")
        let message = RelayMessage(.gap(gap), source: "pusher")
        _ = try await connection.publish(message.outgoing(prefix: "ev", messageID: "g", stream: "EVENTS"))
        for await gap in gaps {
            #expect(gap.channelName == "relay:price" && gap.end.timeIntervalSince(gap.start) == 2.5)
            break
        }
        consumer.close()
    }

    @Test func aSlowBindingStopsTheReading() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let publisher = Lock(0)
        let async = JetStreamPublisher(connection) { results in publisher.withLock { $0 += results.count } }
        for batch in 0..<8 {
            async.publish((0..<500).map { ($0, .make(id: "\(batch)-\($0)")) })
            #expect(await eventually { publisher.withLock { $0 } == (batch + 1) * 500 })
        }
        let consumer = try makeConsumer(server)
        let gate = Lock(false)
        let count = Lock(0)
        consumer.bind { _ in
            while !gate.withLock({ $0 }) { letOthersRun() }
            count.withLock { $0 += 1 }
        }
        consumer.start()
        // As many as requested, and no more.
        #expect(
            await eventually { (try? await connection.acksAwaited("EVENTS", "bindings")) == PullMachine.usualWindow })
        let end = ContinuousClock.now + .milliseconds(500)
        _ = await eventually { ContinuousClock.now > end }
        #expect(try await connection.acksAwaited("EVENTS", "bindings") == PullMachine.usualWindow)
        gate.withLock { $0 = true }
        #expect(await eventually { count.withLock { $0 } == 4000 })
        #expect(await eventually { (try? await connection.acksAwaited("EVENTS", "bindings")) == 0 })
        consumer.close()
    }
}
