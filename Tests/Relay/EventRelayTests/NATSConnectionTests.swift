import Basics
import CNATS
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct NATSConnectionTests {
    @Test func aMessageIsStoredOnceForItsID() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let first = try await connection.publish(.make(id: "a"))
        let again = try await connection.publish(.make(id: "a"))
        #expect(!first.isDuplicate && again.isDuplicate && again.sequence == first.sequence)
        #expect(try await connection.publish(.make(id: "b")).sequence == first.sequence + 1)
    }

    @Test func aConditionDecidesBetweenTwoWrites() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let record = OutgoingMessage.make("$KV.RELAY.s.7", payload: "{\"owner\":\"a\"}")
        let first = try await connection.publish(record, expectedLastSubjectSequence: 0)
        for wrong in [0, first.sequence + 1] {
            let error = await #expect(throws: NATSError.self) {
                try await connection.publish(record, expectedLastSubjectSequence: wrong)
            }
            #expect(error?.kind == .wrongLastSequence && error?.jsErrCode == 10071)
        }
        let second = try await connection.publish(record, expectedLastSubjectSequence: first.sequence)
        let read = try await connection.leaderMessage(stream: "KV_RELAY", subject: "$KV.RELAY.s.7")
        #expect(read?.sequence == second.sequence && read?.payload == record.payload)
        #expect(try await connection.leaderMessage(stream: "KV_RELAY", subject: "$KV.RELAY.s.8") == nil)
    }

    @Test func aMessageGoesToTheExpectedStreamOnly() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let message = OutgoingMessage(subject: "ev.a.b.c", payload: [], expectedStream: "OTHER")
        let error = await #expect(throws: NATSError.self) { try await connection.publish(message) }
        #expect(error?.jsErrCode == 10060)
        let nobody = await #expect(throws: NATSError.self) { try await connection.publish(.make("nobody.has.this")) }
        #expect(nobody?.kind == .noResponders)
    }

    /// libnats before 3.6 reads a subscription that another thread frees, which crashes the process (its issue 637).
    @Test func aSubscriptionMayGoWhileItsMessagesCome() async throws {
        let server = try await NATSServer()
        let connection = try await server.connect()
        let link = try #require(connection.link)
        let flood = try await server.connect()
        let isDone = Lock(false)
        let flooding = Task {
            while !isDone.withLock({ $0 }) {
                try await flood.call("the flood") { link in
                    for _ in 0..<100 { natsConnection_PublishString(link.connection, "flood", "a message") }
                }
            }
        }
        for _ in 0..<300 {
            let count = Lock(0)
            let subscriptions = try (0..<10).map { _ in
                try NATSSubscription(link, subject: "flood", headers: []) { messages in
                    count.withLock { $0 += messages.count }
                }
            }
            #expect(await eventually { count.withLock { $0 } > 0 })
            withExtendedLifetime(subscriptions) {}
        }
        isDone.withLock { $0 = true }
        try await flooding.value
    }

    /// A silent server answers no flush. Subscriptions that wait for it are freed with the connection, and no longer
    /// retain it.
    @Test func whatEndsWhileTheServerIsSilentIsFreedWithItsConnection() async throws {
        let server = try await NATSServer()
        let isGone: @Sendable () -> Bool
        do {
            let connection = try await server.connect()
            let link = try #require(connection.link)
            isGone = { [weak link] in link == nil }
            let subscriptions = try (0..<10).map { _ in try NATSSubscription(link, subject: "a", headers: []) { _ in } }
            server.stop()
            withExtendedLifetime(subscriptions) {}
        }
        #expect(await eventually { isGone() })
        server.resume()
    }

    /// libnats sends these unchecked.
    @Test func whatTheLibraryWouldSendAsItIsIsRefused() async throws {
        let server = try await NATSServer()
        let connection = try await server.connect()
        let messages: [OutgoingMessage] = [
            .make("ev.a b"), .make("ev.a\r\nPUB x 0\r\n\r\n"), .make("ev.*.a"), .make("ev.>"), .make(""),
            .make(headers: [("Relay-User", "")]), .make(headers: [("Relay-User", "Nats-Msg-Id")]),
            .make(headers: [("Relay-User", "a\r\nX: y")]), .make(headers: [("Relay User", "a")]), .make(id: "Nats-x"),
            .make(id: ""), .make("ev." + String(repeating: "a", count: 510)),
        ]
        for message in messages {
            let error = await #expect(throws: NATSError.self) { try await connection.publish(message) }
            #expect(error?.kind == .invalidArgument, "\(message)")
        }
    }

    @Test func aMessageThatIsTooLargeIsToldAsThat() async throws {
        let server = try await NATSServer(configuration: "max_payload: 64KB")
        let connection = try await server.connectWithStreams()
        let error = await #expect(throws: NATSError.self) {
            try await connection.publish(.make(payload: String(repeating: "a", count: 70_000)))
        }
        #expect(error?.kind == .tooLarge)
        // It is too large with its headers.
        let headers = await #expect(throws: NATSError.self) {
            try await connection.publish(
                .make(payload: String(repeating: "a", count: 65_500), headers: [("Relay-User", "someone who is here")]))
        }
        #expect(headers?.kind == .tooLarge)
    }

    @Test func aFullStreamRefuses() async throws {
        let server = try await NATSServer()
        let connection = try await server.connect()
        _ = try await connection.setUp(.events(replicas: 1, maximumBytes: 20_000))
        let error = await #expect(throws: NATSError.self) {
            for _ in 0..<100 { _ = try await connection.publish(.make(payload: String(repeating: "a", count: 1000))) }
        }
        #expect(error?.kind == .streamFull && error?.jsErrCode == 10077)
    }

    @Test func aStreamThatIsLargerThanTheQuotaIsToldAsThat() async throws {
        let server = try await NATSServer()
        let connection = try await server.connect()
        let error = await #expect(throws: NATSError.self) {
            try await connection.setUp(.events(replicas: 1, maximumBytes: 2 << 30))
        }
        #expect(error?.kind == .quotaExceeded)
    }

    // MARK: Streams

    @Test func aStreamThatDiffersIsLeftAsItIs() async throws {
        let server = try await NATSServer()
        let connection = try await server.connect()
        let settings = StreamSettings.events(replicas: 1, maximumBytes: 1 << 20)
        #expect(try await connection.setUp(settings) == .created)
        #expect(try await connection.setUp(settings) == .existed)
        var other = settings
        (other.maximumBytes, other.duplicateWindow) = (2 << 20, .seconds(60))
        #expect(
            try await connection.setUp(other)
                == .differs(["max_bytes is 1048576, not 2097152", "duplicate_window is 600 s, not 60 s"]))
        #expect(try await connection.streamStatus("EVENTS")?.settings == settings)
        #expect(try await connection.setUp(.records(replicas: 1)) == .created)
        #expect(try await connection.setUp(.records(replicas: 1)) == .existed)
        #expect(try await connection.streamStatus("NOTHING") == nil)
    }

    @Test func aSubjectOfAnotherStreamIsToldAsAnError() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let error = await #expect(throws: NATSError.self) {
            try await connection.setUp(.events(name: "OTHER", replicas: 1, maximumBytes: 1 << 20))
        }
        #expect(error?.kind == .other)
    }

    @Test func theServersVersionIsRead() async throws {
        let server = try await NATSServer()
        let connection = try await server.connect()
        #expect(try #require(await connection.serverVersion()) >= .oldest)
        try await connection.checkServerVersion()
        #expect(try #require(ServerVersion("2.8.4")) < .oldest)
        #expect(try #require(ServerVersion("2.12.0-preview.1")) > ServerVersion(2, 9, 21))
        #expect(ServerVersion("nonsense") == nil)
    }

    // MARK: Losing the connection

    @Test func callsFailAtOnceWithoutAServerAndGoOnWithIt() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let news = Lock<[String]>([])
        connection.observe { item in
            switch item {
            case .connected: news.withLock { $0.append("connected") }
            case .disconnected: news.withLock { $0.append("disconnected") }
            case .failed, .closed: break
            }
        }
        server.kill()
        #expect(await eventually { connection.connectionState == .reconnecting })
        let error = await #expect(throws: NATSError.self) { try await connection.publish(.make()) }
        #expect(error?.kind == .notConnected)
        try server.start()
        #expect(await eventually { connection.connectionState == .connected })
        #expect(await eventually { (try? await connection.publish(.make(id: "x"))) != nil })
        #expect(news.withLock { $0 } == ["disconnected", "connected"])
        connection.close()
        #expect(connection.connectionState == .disconnected)
    }

    @Test func aServerThatIsStoppedIsNoticed() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        server.stop()
        defer { server.resume() }
        #expect(await eventually(within: .seconds(8)) { connection.connectionState == .reconnecting })
    }

    @Test func aServerThatIsNotThereYetIsWaitedFor() async throws {
        let server = try await NATSServer()
        server.kill()
        let connection = NATSConnection(try NATSOptions(server.url))
        let error = await #expect(throws: NATSError.self) { try await connection.connect() }
        #expect(error?.kind == .unreachable)
        connection.start()
        try server.start()
        #expect(await eventually { connection.connectionState == .connected })
    }
}
