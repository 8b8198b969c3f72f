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

/// Relays of a mock server's channels into one stream.
@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct EventRelayTests {
    private func running(
        _ name: String, _ nats: NATSServer, _ server: PusherMockServer, channels: [String],
        _ change: (inout EventRelayOptions) -> Void = { _ in }
    ) throws -> RunningRelay {
        let pusher = Pusher.make(server, Recorder())
        return try RunningRelay(
            name, nats, PusherRelaySource(pusher, app: "app", channels: channels), change)
    }

    private func waitForEvents(_ count: Int, in nats: NATSServer) async throws {
        let isThere = await eventually { ((try? await nats.messages()).map { events($0).count } ?? 0) >= count }
        #expect(isThere)
    }

    private func gaps(_ messages: [RelayMessage]) -> [RelayGap] {
        messages.compactMap { if case .gap(let gap) = $0.content { gap } else { nil } }
    }

    private func events(_ messages: [RelayMessage]) -> [String] {
        messages.compactMap { if case .event(let event) = $0.content { event.data } else { nil } }
    }

    /// A publisher of about a hundred events a second.
    private struct SteadyEvents {
        private let isOver = Lock(false)
        private let task: Task<Int, Never>

        init(_ server: PusherMockServer, _ channels: [String]) {
            task = Task { [isOver] in
                var number = 0
                while !isOver.withLock({ $0 }) {
                    await server.publish(event: "e", channel: channels[number % channels.count], data: "\(number)")
                    number += 1
                    try? await Task.sleep(for: .milliseconds(10))
                }
                return number
            }
        }

        /// Stops, and returns the number of events.
        func stop() async -> Int {
            isOver.withLock { $0 = true }
            return await task.value
        }
    }

    @Test func eventsComeIntoTheStream_withTheirNames() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        try await withServer { server in
            let relay = try running("a", nats, server, channels: ["price", "presence-x.y"])
            #expect(await eventually { relay.units.count == 2 }, "\(relay.text)")
            #expect(await server.waitFor { $0.channels().count == 2 })
            await server.publish(event: "changed", channel: "price", data: #"{"p":1}"#)
            await server.publish(event: "m.x", channel: "price", data: "x")
            try await waitForEvents(2, in: nats)
            await relay.stop()
            let messages = try await nats.messages()
            #expect(events(messages) == [#"{"p":1}"#, "x"])
            #expect(messages.filter { if case .fence = $0.content { true } else { false } }.count == 2)
            #expect(messages.allSatisfy { $0.author?.term == 1 })
        }
    }

    /// Each unit is relayed by one relay, and by the other one once that ends.
    @Test func twoRelaysShare_andOneTakesAllWhenTheOtherLeaves() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let channels = (0..<20).map { "c\($0)" }
        try await withServer { server in
            let first = try running("a", nats, server, channels: channels)
            let second = try running("b", nats, server, channels: channels)
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
            let messages = try await nats.messages()
            #expect(Set(events(messages)).count == 40)
            var filter = TermFilter()
            for (index, message) in messages.enumerated() {
                let isStale = filter.isStale(message, position: UInt64(index + 1), time: Int64(index))
                #expect(!isStale)
            }
            #expect(gaps(messages).isEmpty)
        }
    }

    /// This happens when the stream is kept but its bucket is lost: readers would drop everything written with terms
    /// from one on.
    @Test func inANewBucket_termsBeginAboveTheLastFenceOfTheStream() async throws {
        let nats = try await NATSServer()
        let connection = try await nats.connectWithStreams()
        let slot = Slot(of: "pusher:app:price")
        for term in [3, 7] {
            let fence = RelayMessage.fence(slot, term: term, by: RelayID(name: "old", random: 1))
            let id = MessageID.fence(prefix: "ev", slot: slot, term: term)
            _ = try await connection.publish(fence.outgoing(prefix: "ev", messageID: id, stream: "EVENTS"))
        }
        connection.close()
        // Including the gap between the old bucket and this one.
        #expect(try await termsAfterAnEvent(nats) == [3, 7, 8, 8, 8])
    }

    /// Returns the terms of all messages, after a relay has relayed one event of the channel `price`.
    private func termsAfterAnEvent(_ nats: NATSServer) async throws -> [Int] {
        try await withServer { server in
            let relay = try running("a", nats, server, channels: ["price"])
            #expect(await eventually { relay.units.count == 1 }, "\(relay.text)")
            #expect(await server.waitFor { $0.channels().count == 1 })
            await server.publish(event: "changed", channel: "price", data: "1")
            try await waitForEvents(1, in: nats)
            await relay.stop()
        }
        return try await nats.messages().compactMap(\.author?.term)
    }

    /// The term is not ours, whatever the bucket says: the bucket may have lost a record, and another relay was faster.
    @Test func aTermWhoseFenceTheStreamHasNotTakenIsNobodys() async throws {
        let nats = try await NATSServer()
        let connection = try await nats.connectWithStreams()
        // The server knows the ID, but the fence is not visible before the slot is taken.
        let id = MessageID.fence(prefix: "ev", slot: Slot(of: "pusher:app:price"), term: 1)
        let stranger = OutgoingMessage(subject: "ev.a.b.c", payload: [], messageID: id, expectedStream: "EVENTS")
        _ = try await connection.publish(stranger)
        connection.close()
        #expect(try await termsAfterAnEvent(nats) == [2, 2, 2])
    }

    /// Anyone who may write events can write anything there.
    @Test func whatIsNoFenceIsWrittenOver() async throws {
        let nats = try await NATSServer()
        let connection = try await nats.connectWithStreams()
        let subject = RelayMessage.fenceSubject(Slot(of: "pusher:app:price"), prefix: "ev")
        let stranger = OutgoingMessage(subject: subject, payload: [1], messageID: "a", expectedStream: "EVENTS")
        _ = try await connection.publish(stranger)
        connection.close()
        try await withServer { server in
            let relay = try running("a", nats, server, channels: ["price"])
            #expect(await eventually { relay.units.count == 1 }, "\(relay.text)")
            await relay.stop()
        }
    }

    /// A source that listens to nothing.
    private final class QuietSource: RelaySource {
        let units = ["pusher:app:c"]
        private let isWhole: Bool

        let completeTime: Date?

        init(isWhole: Bool) {
            self.isWhole = isWhole
            completeTime = isWhole ? nil : Date(timeIntervalSinceNow: -10)
        }

        func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws {}
        func stop(_ unit: String) async {}
        func hold(_ isHeld: Bool) {}
        func hasHeardAll(of unit: String) async -> Bool { isWhole }
    }

    /// A relay that was cut off from its source leaves. Another relay that is already listening does not bring back the
    /// missed events.
    @Test(arguments: [true, false]) func whoHasNotHeardAllHandsOverWithAGap(isWhole: Bool) async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let relays = [
            try RunningRelay("a", nats, QuietSource(isWhole: isWhole)),
            try RunningRelay("b", nats, QuietSource(isWhole: isWhole)),
        ]
        #expect(await eventually { relays.contains { !$0.units.isEmpty } })
        let (first, second) = relays[0].units.isEmpty ? (relays[1], relays[0]) : (relays[0], relays[1])
        await first.stop()
        #expect(await eventually(within: .seconds(20)) { !second.units.isEmpty })
        await second.stop()
        #expect(gaps(try await nats.messages()).isEmpty == isWhole)
    }

    /// A source with pending events.
    private final class SlowSource: RelaySource {
        let units = ["pusher:app:c"]
        let isEmpty = Lock(false)
        let questions = Lock(0)

        func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws {}
        func stop(_ unit: String) async {}
        func hold(_ isHeld: Bool) {}
        func hasHeardAll(of unit: String) async -> Bool {
            questions.withLock { $0 += 1 }
            return isEmpty.withLock { $0 }
        }
    }

    /// Events that came while the stream took nothing are older than they look. A relay that dies before reading all of
    /// them leaves a gap from the beginning of the hold.
    @Test func afterAHold_allHasComeOnlyOnceTheSourceIsRead() async throws {
        let source = SlowSource()
        let core = RelayCore(EventRelayOptions(try NATSOptions("nats://127.0.0.1:1"), name: "a"), [source])
        core.state.withLock { $0.units[source.units[0]] = UnitRun(id: 1, phase: .running(term: 1)) }
        await core.carryOut(.hold(true))
        let start = Date().milliseconds
        await core.carryOut(.hold(false))
        #expect(await eventually { source.questions.withLock { $0 } > 1 })
        #expect(core.receivedTime < start)
        await core.carryOut(.hold(true))
        await core.carryOut(.hold(false))
        #expect(core.receivedTime < start)
        source.isEmpty.withLock { $0 = true }
        #expect(await eventually { core.receivedTime >= start })
    }

    /// This happens in a rolling restart: the next owner subscribes before the last one stops.
    @Test func whenARelayLeaves_noEventIsMissing_andRepeatsAreMarked() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let channels = (0..<10).map { "c\($0)" }
        try await withServer { server in
            let first = try running("a", nats, server, channels: channels)
            let second = try running("b", nats, server, channels: channels)
            #expect(await eventually { first.units.count + second.units.count == 10 }, "\(first.text)\n\(second.text)")
            #expect(await server.waitFor { $0.channels().count == 10 })
            let published = SteadyEvents(server, channels)
            try await waitForEvents(50, in: nats)
            await first.stop()
            #expect(await eventually { second.units.count == 10 }, "\(second.text)")
            let before = events(try await nats.messages()).count
            try await waitForEvents(before + 50, in: nats)
            let count = await published.stop()
            #expect(await eventually { (try? await nats.messages()).map { Set(events($0)).count } == count })
            await second.stop()
            let all = try await nats.messages()
            #expect(gaps(all).isEmpty)
            let unmarked = events(all.filter { !$0.mayBeRepeated })
            #expect(unmarked.count == Set(unmarked).count)
            #expect(!first.text.contains("answer in time"), "\(first.text)")
        }
    }

    @Test func whenARelayComes_whatGoesToItHasNoGap() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let channels = (0..<10).map { "c\($0)" }
        try await withServer { server in
            func start(_ name: String) throws -> RunningRelay {
                try running(name, nats, server, channels: channels) {
                    ($0.heartbeatInterval, $0.holderLimit, $0.observerWait) = (
                        .milliseconds(500), .seconds(4), .seconds(5)
                    )
                }
            }
            let first = try start("a")
            #expect(await eventually { first.units.count == 10 }, "\(first.text)")
            #expect(await server.waitFor { $0.channels().count == 10 })
            let published = SteadyEvents(server, channels)
            let second = try start("b")
            let hasItsShare = await eventually { (first.units.count, second.units.count) == (5, 5) }
            #expect(hasItsShare, "\(first.text)\n\(second.text)")
            let count = await published.stop()
            #expect(await eventually { (try? await nats.messages()).map { Set(events($0)).count } == count })
            await first.stop()
            await second.stop()
            let all = try await nats.messages()
            #expect(gaps(all).isEmpty, "\(first.text)\n\(second.text)")
            let unmarked = events(all.filter { !$0.mayBeRepeated })
            #expect(unmarked.count == Set(unmarked).count)
        }
    }

    /// Events that come meanwhile are missed. The next owner derives a gap from the last heartbeat.
    @Test func asLongAsTheConnectionOfItsSourceIsDown_heartbeatsDoNotSayThatAllHasCome() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        try await withServer { server in
            let relay = try running("a", nats, server, channels: ["price"]) {
                $0.heartbeatInterval = .milliseconds(100)
            }
            #expect(await eventually { relay.units.count == 1 })
            #expect(await server.waitFor { $0.channels().count == 1 })
            let connection = try await nats.connect()
            let key = "$KV.RELAY.h.\(relay.relay.id)"
            @Sendable func heartbeat() async throws -> Heartbeat? {
                try await connection.leaderMessage(stream: "KV_RELAY", subject: key).flatMap { JSONView($0.payload) }
                    .flatMap { Heartbeat($0) }
            }
            await server.publish(event: "e", channel: "price", data: "1")
            try await waitForEvents(1, in: nats)
            await server.failHandshakes(.refuseConnection)
            for connection in await server.state.connections {
                try await server.inject(.dropTCP, into: connection.socketID)
            }
            let end = Date()
            let number = try #require(try await heartbeat()?.number)
            #expect(await eventually { (try? await heartbeat()?.number).map { $0 > number + 30 } ?? false })
            let settled = try #require(try await heartbeat()?.settled)
            #expect(settled <= end.milliseconds)
            connection.close()
            await relay.stop()
        }
    }
}
