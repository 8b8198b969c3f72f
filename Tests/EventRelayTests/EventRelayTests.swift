import Basics
import Foundation
import JSONBytes
import PusherMockServer
import PusherSwift
import PusherTestSupport
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

/// Relays of channels of a mock server into one stream.
@Suite(.enabled(if: NATSServer.isWanted)) struct EventRelayTests {
    /// Relays in this process, as if each were one of its own.
    private final class Running: Sendable {
        let relay: EventRelay
        let reports = Lock<[RelayReport]>([])
        private let task: Task<Void, Never>
        private let pusher: Pusher
        private let recorder = Recorder()

        init(_ name: String, _ nats: NATSServer, _ server: PusherMockServer, channels: [String]) throws {
            let options = EventRelayOptions(try NATSOptions(nats.url), name: name)
            pusher = Pusher.make(server, recorder)
            relay = EventRelay(options, sources: [PusherRelaySource(pusher, app: "app", channels: channels)])
            let reports = reports
            relay.observe { report in reports.withLock { $0.append(report) } }
            let relay = relay
            task = Task { try? await relay.run() }
        }

        var units: [String] { relay.units }

        /// As SIGTERM does.
        func stop() async {
            task.cancel()
            await task.value
        }

        var text: String { reports.withLock { $0 }.map { "\($0)" }.joined(separator: "\n") }
    }

    private func messages(_ nats: NATSServer) async throws -> [RelayMessage] {
        let connection = try await nats.connect()
        defer { connection.close() }
        let last = try #require(try await connection.streamStatus("EVENTS")).lastSequence
        let messages = Lock<[RelayMessage]>([])
        let reader = PullReader(
            connection, stream: "EVENTS", settings: ConsumerSettings(start: .beginning),
            headers: RelayMessage.headerNames
        ) { report in
            guard case .delivered(let deliveries) = report else { return }
            for delivery in deliveries {
                let message = try? RelayMessage(
                    subject: delivery.message.subject, prefix: "ev", payload: delivery.message.payload,
                    header: delivery.message.header)
                messages.withLock { $0.append(contentsOf: [message].compactMap(\.self)) }
            }
        }
        reader.start()
        defer { reader.close() }
        #expect(await eventually { messages.withLock { $0.count } >= last })
        return messages.withLock { $0 }
    }

    private func waitForEvents(_ count: Int, in nats: NATSServer) async throws {
        let isThere = await eventually { ((try? await messages(nats)).map { events($0).count } ?? 0) >= count }
        #expect(isThere)
    }

    private func events(_ messages: [RelayMessage]) -> [String] {
        messages.compactMap { if case .event(let event) = $0.content { event.data } else { nil } }
    }

    @Test func eventsComeIntoTheStream_withTheirNames() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        try await withServer { server in
            let relay = try Running("a", nats, server, channels: ["price", "presence-x.y"])
            #expect(await eventually { relay.units.count == 2 }, "\(relay.text)")
            #expect(await server.waitFor { $0.channels().count == 2 })
            await server.publish(event: "changed", channel: "price", data: #"{"p":1}"#)
            await server.publish(event: "m.x", channel: "price", data: "x")
            try await waitForEvents(2, in: nats)
            await relay.stop()
            let messages = try await messages(nats)
            #expect(events(messages) == [#"{"p":1}"#, "x"])
            #expect(messages.filter { if case .fence = $0.content { true } else { false } }.count == 2)
            #expect(messages.allSatisfy { $0.author?.term == 1 })
        }
    }

    /// Each unit is relayed by one of them, and by the other one when that ends.
    @Test func twoRelaysShare_andOneTakesAllWhenTheOtherLeaves() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let channels = (0..<20).map { "c\($0)" }
        try await withServer { server in
            let first = try Running("a", nats, server, channels: channels)
            let second = try Running("b", nats, server, channels: channels)
            #expect(await eventually { first.units.count + second.units.count == 20 }, "\(first.text)\n\(second.text)")
            #expect(await server.waitFor { $0.channels().count == 20 })
            #expect(Set(first.units + second.units).count == 20)
            for channel in channels { await server.publish(event: "e", channel: channel, data: "1 \(channel)") }
            try await waitForEvents(20, in: nats)
            await first.stop()
            #expect(await eventually { second.units.count == 20 }, "\(second.text)")
            #expect(
                await server.waitFor { state in state.channels().count == 20 && state.connectionCount == 1 },
                "\(second.text)")
            for channel in channels { await server.publish(event: "e", channel: channel, data: "2 \(channel)") }
            try await waitForEvents(40, in: nats)
            await second.stop()
            let messages = try await messages(nats)
            #expect(events(messages).count == 40 && Set(events(messages)).count == 40)
            var filter = TermFilter()
            for (index, message) in messages.enumerated() {
                let isStale = filter.isStale(message, position: UInt64(index + 1))
                #expect(!isStale)
            }
            // What may be missing in between is told.
            let gaps = messages.filter { if case .gap = $0.content { true } else { false } }
            #expect(Set(gaps.compactMap(\.author?.unit)).count == gaps.count && !gaps.isEmpty)
        }
    }
}
