import Basics
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

/// The minimal permissions of each role, as documented.
@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct PermissionTests {
    private static let configuration = """
        authorization { users: [
            { user: setup, password: pw, permissions: {
                publish: ["$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.INFO.*"], subscribe: "_INBOX.>" } }
            { user: relay, password: pw, permissions: {
                publish: [
                    "ev.>", "$KV.RELAY.>", "$JS.API.STREAM.INFO.EVENTS", "$JS.API.STREAM.INFO.KV_RELAY",
                    "$JS.API.STREAM.MSG.GET.EVENTS", "$JS.API.STREAM.MSG.GET.KV_RELAY",
                    "$JS.API.CONSUMER.CREATE.KV_RELAY.>", "$JS.API.CONSUMER.MSG.NEXT.KV_RELAY.>",
                    "$JS.API.CONSUMER.DELETE.KV_RELAY.>" ],
                subscribe: "_RELAY.>" } }
            { user: worker, password: pw, permissions: {
                publish: [
                    "$JS.API.CONSUMER.INFO.EVENTS.a", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.a", "$JS.ACK.EVENTS.a.>",
                    "dead.>" ],
                subscribe: "_WORKER.>" } }
            { user: fenced, password: pw, permissions: {
                publish: [
                    "$JS.API.CONSUMER.INFO.EVENTS.a", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.>", "$JS.ACK.EVENTS.a.>",
                    "dead.>", "$JS.API.CONSUMER.CREATE.EVENTS.>", "$JS.API.CONSUMER.DELETE.EVENTS.>" ],
                subscribe: "_WORKER.>" } }
            { user: replay, password: pw, permissions: {
                publish: [
                    "$JS.API.CONSUMER.CREATE.EVENTS.>", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.>",
                    "$JS.API.CONSUMER.DELETE.EVENTS.>" ],
                subscribe: "_REPLAY.>" } }
            { user: operator, password: pw }
        ] }

        """

    private func options(_ server: NATSServer, _ user: String, inbox: String) throws -> NATSOptions {
        var options = try NATSOptions(server.url)
        options.credentials = .user(user, password: "pw")
        options.inboxPrefix = inbox
        return options
    }

    private func connect(_ server: NATSServer, _ user: String, inbox: String) async throws -> NATSConnection {
        let connection = NATSConnection(try options(server, user, inbox: inbox))
        try await connection.connect()
        return connection
    }

    /// Returns a server whose streams were made by the role for that.
    private func makeServer() async throws -> NATSServer {
        let server = try await NATSServer(configuration: Self.configuration)
        let setup = try await connect(server, "setup", inbox: "_INBOX")
        for settings in [
            StreamSettings.events(replicas: 1, maximumBytes: 16 << 20), .records(replicas: 1, maximumBytes: 1 << 20),
            .deadLetters(replicas: 1, maximumBytes: 1 << 20),
        ] {
            #expect(try await setup.setUp(settings) == .created)
            #expect(try await setup.setUp(settings) == .existed)
        }
        return server
    }

    /// Records the connection's reports of missing permissions.
    private func violations(of connection: NATSConnection) -> Lock<[String]> {
        let violations = Lock<[String]>([])
        connection.observe { news in
            if case .failed(let error) = news, error.kind == .permission {
                violations.withLock { $0.append(error.message) }
            }
        }
        return violations
    }

    @Test func aRelayHasWhatItNeeds() async throws {
        let server = try await makeServer()
        let connection = try await connect(server, "relay", inbox: "_RELAY")
        let violations = violations(of: connection)
        #expect(try await connection.streamStatus("EVENTS") != nil)
        #expect(try await connection.streamStatus("KV_RELAY") != nil)
        let record = OutgoingMessage(
            subject: "$KV.RELAY.s.1", payload: [], messageID: "s.1@0.1", expectedStream: "KV_RELAY")
        let stored = try await connection.publish(record, expectedLastSubjectSequence: 0)
        #expect(
            try await connection.leaderMessage(stream: "KV_RELAY", subject: "$KV.RELAY.s.1")?.sequence
                == stored.sequence)
        let results = Lock(0)
        let publisher = JetStreamPublisher(connection) { new in
            results.withLock { count in
                for case (_, .stored) in new { count += 1 }
            }
        }
        publisher.publish([(1, .make(id: "1"))])
        #expect(await eventually { results.withLock { $0 } == 1 })
        let complete = Lock(0)
        let watch = RecordWatch(connection, stream: "KV_RELAY", filter: "$KV.RELAY.>") { news in
            if case .complete = news { complete.withLock { $0 += 1 } }
        }
        watch.start()
        #expect(await eventually { complete.withLock { $0 } == 1 })
        watch.close()
        #expect(try await connection.streamStatus("EVENTS")?.lastSequence == 1)
        #expect(violations.withLock { $0 } == [])
    }

    @Test(arguments: ["worker", "fenced"])
    func aWorkerHasWhatItNeeds(user: String) async throws {
        let server = try await makeServer()
        let operation = try await connect(server, "operator", inbox: "_INBOX")
        try await operation.call("the making of a group") { link throws(NATSError) in
            var settings = EventConsumerOptions()
            (settings.group, settings.start) = ("a", .beginning)
            _ = try NATSConnection.findOrMakeConsumer(
                settings.settings(event: nil), name: "", stream: "EVENTS", link)
        }
        _ = try await operation.publish(.make("ev.pusher.price.update"))
        _ = try await operation.publish(.make("ev.nonsense"))
        _ = try await operation.publish(.make("ev.pusher.price.update"))
        var reading = EventConsumerOptions()
        (reading.group, reading.createsGroup) = ("a", false)
        let consumer = EventConsumer(nats: try options(server, user, inbox: "_WORKER"), options: reading)
        let violations = violations(of: consumer.core.connection)
        var sequences: [UInt64] = []
        for await message in consumer.events() {
            sequences.append(message.sequence)
            try await message.ack(confirming: true)
            if sequences.count == 2 { break }
        }
        #expect(sequences == [1, 3])
        #expect(await eventually { (try? await operation.streamStatus("DEAD"))??.messages == 1 })
        // Without permission to make a consumer for the fences, it has only the terms of messages.
        #expect(violations.withLock { $0.isEmpty } == (user == "fenced"))
        consumer.close()
    }

    @Test func aReplayHasWhatItNeeds() async throws {
        let server = try await makeServer()
        let operation = try await connect(server, "operator", inbox: "_INBOX")
        _ = try await operation.publish(.make("ev.pusher.price.update"))
        var reading = EventConsumerOptions()
        reading.start = .beginning
        let consumer = EventConsumer(nats: try options(server, "replay", inbox: "_REPLAY"), options: reading)
        let violations = violations(of: consumer.core.connection)
        for filtered in [nil, "update"] {
            for await message in consumer.events(filtered) {
                #expect(message.sequence == 1)
                break
            }
        }
        #expect(await eventually { (try? await operation.consumerCount("EVENTS")) == 1 })
        #expect(violations.withLock { $0 } == [])
        consumer.close()
        #expect(await eventually { (try? await operation.consumerCount("EVENTS")) == 0 })
    }

    @Test func nobodyReadsTheAnswersOfAnotherRole() async throws {
        let server = try await makeServer()
        let connection = try await connect(server, "worker", inbox: "_RELAY")
        let violations = violations(of: connection)
        let error = await #expect(throws: NATSError.self) {
            try await connection.request("dead.x", "x", wait: .seconds(1))
        }
        #expect(error != nil)
        #expect(await eventually { violations.withLock { !$0.isEmpty } })
    }

    @Test func aReaderWithoutPermissionSaysWhatIsMissing() async throws {
        let server = try await makeServer()
        let consumer = EventConsumer(nats: try options(server, "relay", inbox: "_RELAY"))
        let errors = consumer.errors
        let reading = Task { for await _ in consumer.events() {} }
        for await error in errors where !error.willRetry && error.underlying != nil {
            #expect((error.underlying as? NATSError)?.kind == .permission)
            #expect(error.message.contains("$JS.API.CONSUMER.CREATE.EVENTS"))
            break
        }
        await reading.value
        consumer.close()
    }
}
