import Basics
import CurlTransport
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct JetStreamPublisherTests {
    /// Results by token, in order of arrival.
    private final class Results: Sendable {
        private let results = Lock<[UInt64: [JetStreamPublisher.Outcome]]>([:])

        func add(_ new: JetStreamPublisher.Results) {
            results.withLock { results in
                for (token, outcome) in new { results[token, default: []].append(outcome) }
            }
        }

        var all: [UInt64: [JetStreamPublisher.Outcome]] { results.withLock { $0 } }

        func kind(_ token: UInt64) -> NATSError.Kind? {
            if case .failed(let error) = all[token]?.last { error.kind } else { nil }
        }

        func stored(_ token: UInt64) -> StoredMessage? {
            if case .stored(let stored) = all[token]?.last { stored } else { nil }
        }
    }

    private func publisher(
        _ connection: NATSConnection, wait: Duration = .seconds(2)
    ) -> (JetStreamPublisher, Results) {
        let results = Results()
        return (JetStreamPublisher(connection, wait: wait) { results.add($0) }, results)
    }

    @Test func eachMessageHasOneResult() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let (publisher, results) = publisher(connection)
        for batch in 0..<5 {
            publisher.publish((0..<100).map { (batch * 100 + $0, .make(id: "m\(batch)-\($0)")) })
            #expect(await eventually { results.all.count == (batch + 1) * 100 })
        }
        #expect(results.all.values.allSatisfy { $0.count == 1 })
        #expect(Set((0..<500).compactMap { results.stored($0)?.sequence }) == Set(1...500))
        publisher.publish([(500, .make(id: "m0-0"))])
        #expect(await eventually { results.stored(500) == StoredMessage(sequence: 1, isDuplicate: true) })
    }

    @Test func failuresAreToldAsWhatTheyAre() async throws {
        let server = try await NATSServer(configuration: "max_payload: 64KB\n")
        let connection = try await server.connectWithStreams()
        let (publisher, results) = publisher(connection)
        publisher.publish([
            (1, .make("ev.a b")), (2, .make("nobody.has.this")),
            (3, .make(payload: String(repeating: "a", count: 70_000))),
            (4, .make()),
        ])
        #expect(await eventually { results.all.count == 4 })
        #expect(results.kind(1) == .invalidArgument)
        #expect(results.kind(2) == .noResponders)
        #expect(results.kind(3) == .tooLarge)
        #expect(results.stored(4) != nil)
    }

    @Test func aMissingPermissionIsToldAsThat() async throws {
        let server = try await NATSServer(
            configuration: """
                authorization { users: [
                    { user: a, password: pw, permissions: { publish: ["ev.mine.>"], subscribe: "_INBOX.>" } }
                    { user: b, password: pw }
                ] }

                """)
        _ = try await server.connect("b").setUp(.events(replicas: 1, maximumBytes: 1 << 20))
        let (publisher, results) = publisher(try await server.connect("a"), wait: .seconds(1))
        publisher.publish([(1, .make("ev.other.x")), (2, .make("ev.mine.x"))])
        #expect(await eventually { results.all.count == 2 })
        #expect(results.kind(1) == .permission)
        #expect(results.stored(2) != nil)
    }

    @Test func whatIsUnderWayWithALostServerFails() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let (publisher, results) = publisher(connection, wait: .milliseconds(500))
        publisher.publish([(0, .make(id: "0"))])
        #expect(await eventually { results.stored(0) != nil })
        server.stop()
        publisher.publish([(1, .make(id: "1"))])
        #expect(await eventually { results.all[1] != nil })
        #expect(results.kind(1) == .timeout)
        server.kill()
        #expect(await eventually { connection.connectionState == .reconnecting })
        publisher.publish([(2, .make(id: "2"))])
        #expect(await eventually { results.kind(2) == .notConnected })
        try server.start()
        #expect(await eventually { connection.connectionState == .connected })
        publisher.publish([(3, .make(id: "3"))])
        #expect(await eventually { results.all[3] != nil })
        #expect(results.all.values.allSatisfy { $0.count == 1 })
    }

    /// The library's acks find a released publisher.
    @Test func aPublisherMayGoWhileItsAcksCome() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        for round in 0..<200 {
            let (publisher, results) = publisher(connection)
            publisher.publish((0..<200).map { ($0, .make(id: "\(round)-\($0)")) })
            #expect(await eventually { !results.all.isEmpty })
            publisher.close()
        }
        let (publisher, results) = publisher(connection)
        publisher.publish([(0, .make(id: "last"))])
        #expect(await eventually { results.stored(0) != nil })
    }
}
