import Basics
import MetricsTestKit
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing
import Transport

@Suite(.overSockets)
struct SequenceTests {
    private let recorder = Recorder()

    @Test func eventsComeInOrderAndLeavingUnbinds() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            let numbers = channel.events("e", as: Int.self)
            channel.bind(eventName: "last") { [recorder] _ in recorder.add("last") }
            pusher.connect()
            try await channel.subscribed()
            for number in 1...100 { await server.publish(event: "e", channel: "c", data: "\(number)") }
            var received: [Int] = []
            for await number in numbers {
                received.append(number)
                if received.count == 100 { break }
            }
            #expect(received == Array(1...100))
            // Any binding to it would report that it is not a number.
            await server.publish(event: "e", channel: "c", data: "nonsense")
            await server.publish(event: "last", channel: "c", data: "")
            #expect(await recorder.waitFor("last"))
            #expect(!recorder.contains("cannot be decoded"))
            withExtendedLifetime(numbers) {}
        }
    }

    @Test func aSequenceEndsWithItsChannelAndWithItsClient() async throws {
        try await withServer { server in
            var pusher: Pusher? = Pusher.make(server, recorder)
            let ofChannel = try #require(pusher?.subscribe("c").events())
            let ofClient = try #require(pusher?.events())
            let states = try #require(pusher?.connection.states)
            pusher?.unsubscribe("c")
            for await _ in ofChannel {}
            pusher = nil
            for await _ in ofClient {}
            var seen: [ConnectionState] = []
            for await state in states { seen.append(state) }
            #expect(seen == [.disconnected])
        }
    }

    @Test func cancellingTheTaskEndsTheLoop() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let events = pusher.subscribe("c").events()
            let loop = Task { for await _ in events {} }
            loop.cancel()
            await loop.value
            let channel = pusher.subscribe("c")
            let wait = Task { try await channel.subscribed() }
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
        }
    }

    @Test func statesStartWithThePresentOne() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let states = pusher.connection.states
            pusher.connect()
            var seen: [ConnectionState] = []
            for await state in states {
                seen.append(state)
                if state == .connected { pusher.disconnect() }
                if state == .disconnected, seen.count > 1 { break }
            }
            #expect(seen == [.disconnected, .connecting, .connected, .disconnecting, .disconnected])
        }
    }

    @Test func subscribedThrowsWhatWentWrong() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .noMethod }
            let channel = pusher.subscribe("private-x")
            pusher.connect()
            for _ in 1...2 {  // during the failure, and after it
                await #expect {
                    try await channel.subscribed()
                } throws: { error in
                    (error as? PusherError)?.kind == .authorizationFailed
                }
            }
            pusher.unsubscribe("private-x")
            await #expect(throws: PusherError.self) { try await channel.subscribed() }
        }
    }

    @Test func membersAndErrorsAreSequencesToo() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribeToPresenceChannel(channelName: "presence-x")
            let changes = channel.memberChanges
            let errors = pusher.errors
            pusher.connect()
            try await channel.subscribed()
            let other = Pusher.make(server, Recorder())
            other.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "bob") }
            other.subscribe("presence-x")
            other.connect()
            var iterator = changes.makeAsyncIterator()
            guard case .added(let member)? = await iterator.next() else {
                Issue.record("nobody arrived")
                return
            }
            #expect(member.userId == "bob")
            other.disconnect()
            guard case .removed? = await iterator.next() else {
                Issue.record("nobody left")
                return
            }
            let id = try #require(pusher.connection.socketId)
            try await server.send(raw: "nonsense", to: id)
            for await error in errors {
                #expect(error.kind == .malformedMessage)
                break
            }
        }
    }

    struct Price: Codable, Equatable {
        let symbol: String
        let value: Double
    }

    @Test func eventsDecodeAndTheErrorNamesThePlace() throws {
        let event = PusherEvent(name: "price", channel: "c", data: #"{"symbol":"X","value":1.5}"#)
        #expect(try event.decode(Price.self) == Price(symbol: "X", value: 1.5))
        let wrong = PusherEvent(name: "price", channel: "c", data: #"{"symbol":"X","value":"secret"}"#)
        #expect {
            try wrong.decode(Price.self)
        } throws: { error in
            let text = "\(error)"
            return text.contains("price") && text.contains("channel c") && text.contains("value")
                && !text.contains("secret")
        }
    }

    // MARK: Back-pressure

    /// The server sends continuously to an unread sequence. The client stops reading, and continues once it is read.
    @Test func aSequenceThatNobodyReadsStopsTheSocket() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder) { $0.activityTimeout = 0.05 }
            let channel = pusher.subscribe("c")
            let events = channel.events("e", buffering: .suspend(limit: 10))
            channel.bind(eventName: "e") { [recorder] _ in recorder.add("bound") }
            pusher.connect()
            try await channel.subscribed()
            let payload = String(repeating: "x", count: 50_000)
            for number in 1...600 { await server.publish(event: "e", channel: "c", data: "\(number) \(payload)") }
            #expect(await recorder.waitFor("bound", count: 10))
            // Of the 30 MB, the kernel's buffers hold some and the client next to nothing.
            #expect(recorder.count("bound") < 300)
            var numbers: [Int] = []
            for await event in events {
                numbers.append(Int(event.data?.prefix { $0 != " " } ?? "") ?? 0)
                if numbers.count == 600 { break }
            }
            #expect(numbers == Array(1...600))
            #expect(pusher.connection.connectionState == .connected)
            #expect(
                recorder.count("error") == recorder.count("stopped receiving") + recorder.count("nothing is received"))
        }
    }

    enum Leaving: CaseIterable {
        case breaking, throwing, cancelling, unsubscribing
    }

    /// The buffer is full, and something keeps the sequence.
    @Test(arguments: Leaving.allCases) func whoStopsReadingASequenceHoldsNobodyUp(way: Leaving) async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            pusher.subscribe("other").bind(eventName: "e") { [recorder] _ in recorder.add("event of another channel") }
            let events = channel.events("e", buffering: .suspend(limit: 4))
            pusher.bind { [recorder] event in if event.eventName == "e" { recorder.add("any") } }
            pusher.connect()
            try await channel.subscribed()
            let (body, end) = AsyncStream<Never>.makeStream()
            let loop = Task {
                for await _ in events {
                    recorder.add("read")
                    for await _ in body {}
                    switch way {
                    case .breaking: return
                    case .throwing: throw CancellationError()
                    case .cancelling, .unsubscribing: break
                    }
                }
            }
            await server.publish(event: "e", channel: "c", data: "")
            #expect(await recorder.waitFor("read"))
            for _ in 1...20 { await server.publish(event: "e", channel: "c", data: "") }
            #expect(await recorder.waitFor("any", count: 5))
            switch way {
            case .breaking, .throwing: end.finish()
            case .cancelling: loop.cancel()
            case .unsubscribing: pusher.unsubscribe("c")
            }
            await server.publish(event: "e", channel: "other", data: "")
            #expect(await recorder.waitFor("event of another channel"))
            end.finish()
            _ = await loop.result
            withExtendedLifetime(events) {}
        }
    }

    @Test(arguments: [true, false])
    func aSequenceThatIsKeptAndNotReadIsReported_andSoIsItsEnd(isReadInTheEnd: Bool) async throws {
        try await withServer { server in
            let (metrics, lines) = (TestMetrics(), LogLines())
            let client = Pusher.make(server, recorder) {
                $0.activityTimeout = 0.05
                $0.metrics = PusherMetrics(prefix: "p", factory: metrics)
                $0.logger = lines.logger
            }
            let channel = client.subscribe("c")
            var events: EventSequence<PusherEvent>? = channel.events("e", buffering: .suspend(limit: 4))
            var errors = client.errors.makeAsyncIterator()
            client.connect()
            try await channel.subscribed()
            for _ in 1...10 { await server.publish(event: "e", channel: "c", data: "") }
            let held = await errors.next()
            #expect(held?.kind == .readingHeld && held?.channelName == "c")
            #expect(held?.message.contains("a sequence of “e” is full") == true)
            #expect(lines.contains("a sequence of “e” is full"))
            #expect(try metrics.expectCounter("p.reading.holds").totalValue == 1)
            if isReadInTheEnd {
                var iterator = events?.makeAsyncIterator()
                for _ in 1...10 { #expect(await iterator?.next() != nil) }
                #expect(await eventually { lines.contains("events are received again") })
            }
            events = nil
            let resumed = await errors.next()
            #expect(resumed?.kind == .readingResumed && resumed?.channelName == "c")
            #expect(lines.contains("events are received again"))
            #expect(try metrics.expectTimer("p.reading.held").values.count == 1)
            #expect(await recorder.waitFor("is read again or has ended"))
            #expect(recorder.count("nothing is received") == 1)
        }
    }

    /// The server also sends to a second client, which shows when all data has been sent.
    @Test func aSlowCallbackStopsTheSocketToo_andIsReported() async throws {
        try await withServer { server in
            let (metrics, lines, gate) = (TestMetrics(), LogLines(), Gate())
            let pusher = Pusher.make(server, recorder) {
                $0.maximumQueuedEvents = 10
                $0.activityTimeout = 0.05
                $0.metrics = PusherMetrics(prefix: "p", factory: metrics)
                $0.logger = lines.logger
            }
            let channel = pusher.subscribe("c")
            channel.bind(eventName: "e") { [recorder] event in
                gate.wait()
                recorder.add("event \(event.data?.prefix { $0 != " " } ?? "").")
            }
            pusher.connect()
            #expect(await eventually { channel.subscribed })
            let (other, otherRecorder) = (Pusher(key: pusher.connection.key, options: .local(server)), Recorder())
            let otherChannel = other.subscribe("c")
            otherChannel.bind(eventName: "e") { _ in otherRecorder.add("event") }
            other.connect()
            try await otherChannel.subscribed()
            var errors = pusher.errors.makeAsyncIterator()
            let payload = String(repeating: "x", count: 50_000)
            for number in 1...600 { await server.publish(event: "e", channel: "c", data: "\(number) \(payload)") }
            #expect(await otherRecorder.waitFor("event", count: 600))
            // Of the 30 MB, the kernel's buffers hold some and the client next to nothing.
            #expect(try metrics.expectCounter("p.messages.received").totalValue < 300)
            // Reported even though the callback that blocks everything has not ended.
            let held = await errors.next()
            #expect(held?.kind == .readingHeld && held?.channelName == "c")
            #expect(held?.message.contains("a callback of “e”") == true)
            #expect(lines.contains("a callback of “e”"))
            #expect(!recorder.contains("event 1."))
            gate.open()
            #expect(await recorder.waitFor("event 600."))
            #expect(recorder.all.filter { $0.hasPrefix("event") } == (1...600).map { "event \($0)." })
            #expect(await errors.next()?.kind == .readingResumed)
        }
    }

    @Test func aSequenceThatMayFailEndsWithAnError() async throws {
        try await withServer { server in
            let pusher = Pusher.make(server, recorder)
            let channel = pusher.subscribe("c")
            let events = channel.events("e", buffering: .fail(limit: 2))
            pusher.connect()
            try await channel.subscribed()
            for number in 1...5 { await server.publish(event: "e", channel: "c", data: "\(number)") }
            #expect(await recorder.waitFor("read too slowly"))
            var received: [String?] = []
            for await event in events { received.append(event.data) }
            #expect(received == ["1", "2"])
        }
    }
}
