import Basics
import CurlTransport
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct RecordWatchTests {
    /// The known records, as a relay would see them.
    private final class Known: Sendable {
        private struct State {
            var records: [String: String] = [:]
            var completions = 0
            var failures: [NATSError] = []
        }

        private let state = Lock(State())

        func add(_ news: RecordWatch.News) {
            state.withLock { state in
                switch news {
                case .records(let records):
                    for record in records {
                        state.records[record.subject] = String(decoding: record.payload, as: UTF8.self)
                    }
                case .complete: state.completions += 1
                case .failed(let error, _): state.failures.append(error)
                }
            }
        }

        var records: [String: String] { state.withLock { $0.records } }
        var completions: Int { state.withLock { $0.completions } }
        var failures: [NATSError] { state.withLock { $0.failures } }
    }

    private func watch(_ connection: NATSConnection) -> (RecordWatch, Known) {
        let known = Known()
        let watch = RecordWatch(connection, stream: "KV_RELAY", filter: "$KV.RELAY.>") { known.add($0) }
        watch.start()
        return (watch, known)
    }

    private func put(_ connection: NATSConnection, _ key: Int, _ value: String) async throws {
        _ = try await connection.publish(.make("$KV.RELAY.s.\(key)", payload: value))
    }

    /// An initial record may be overwritten before its delivery. Servers then count it as pending forever.
    @Test func theBeginningEndsWhateverIsWrittenMeanwhile() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let other = try await server.connect()
        let writer = Task {
            while !Task.isCancelled { try await put(other, 1, "a") }
        }
        var unfinished = 0
        for _ in 0..<100 where unfinished == 0 {
            let (watch, known) = watch(connection)
            if !(await eventually(within: .seconds(20)) { known.completions == 1 }) { unfinished += 1 }
            watch.close()
        }
        #expect(unfinished == 0)
        writer.cancel()
        _ = await writer.result
        other.close()
        connection.close()
    }

    @Test func whatIsThereComesBeforeTheEndOfTheBeginning() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        for key in 0..<400 { try await put(connection, key, "a") }
        try await put(connection, 7, "b")
        let completeAt = Lock(0)
        let known = Known()
        let watch = RecordWatch(connection, stream: "KV_RELAY", filter: "$KV.RELAY.>") { news in
            known.add(news)
            if case .complete = news { completeAt.withLock { $0 = known.records.count } }
        }
        watch.start()
        #expect(await eventually { known.completions == 1 })
        #expect(completeAt.withLock { $0 } == 400)
        #expect(known.records["$KV.RELAY.s.7"] == "b")
        try await put(connection, 8, "c")
        #expect(await eventually { known.records["$KV.RELAY.s.8"] == "c" })
        #expect(known.completions == 1)
        watch.close()
    }

    @Test func anEmptyBucketIsCompleteAtOnce() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let (watch, known) = watch(connection)
        #expect(await eventually { known.completions == 1 })
        try await put(connection, 1, "a")
        #expect(await eventually { known.records == ["$KV.RELAY.s.1": "a"] })
        watch.close()
    }

    @Test func itIsReadAnewAfterTheServersDeath() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await put(connection, 1, "a")
        let (watch, known) = watch(connection)
        #expect(await eventually { known.completions == 1 })
        server.kill()
        #expect(await eventually { connection.connectionState == .reconnecting })
        try server.start()
        #expect(await eventually { known.completions == 2 })
        try await put(connection, 1, "b")
        #expect(await eventually { known.records == ["$KV.RELAY.s.1": "b"] })
        watch.close()
    }

    @Test func aConsumerThatIsGoneIsMadeAnew() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        try await put(connection, 1, "a")
        let (watch, known) = watch(connection)
        #expect(await eventually { known.completions == 1 })
        try await connection.deleteStream("KV_RELAY")
        _ = try await connection.setUp(.records(replicas: 1))
        try await put(connection, 2, "b")
        #expect(await eventually { known.records["$KV.RELAY.s.2"] == "b" })
        watch.close()
    }

    @Test func aStreamThatIsNotThereIsToldOnce() async throws {
        let server = try await NATSServer()
        let connection = try await server.connect()
        let (watch, known) = watch(connection)
        #expect(await eventually { known.failures.map(\.kind) == [.notFound] })
        watch.close()
    }
}
