import Basics
import Dispatch
import Foundation
import JSONBytes
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import PydioSDK
import PydioTestSupport
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing
import Transport

@testable import EventRelay

/// Relays of sources that keep missed events: Matrix accounts and Pydio workspaces.
@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct HistorySourceTests {
    private func ids(_ nats: NATSServer) async throws -> [String] { try await nats.messages().compactMap(\.id) }

    private func has(_ ids: [String], _ nats: NATSServer) async -> Bool {
        await eventually(within: .seconds(20)) { (try? await self.ids(nats)) == ids }
    }

    private func gapCount(_ nats: NATSServer) async throws -> Int {
        try await nats.messages().count { if case .gap = $0.content { true } else { false } }
    }

    private func position(_ unit: String, _ nats: NATSServer) async throws -> PositionStore.Position? {
        let connection = try await nats.connect()
        defer { connection.close() }
        return try await PositionStore(connection, bucket: "RELAY").load(unit)
    }

    // MARK: Matrix

    /// A room of an account whose syncs contain at most `limit` events.
    private final class Room: Sendable {
        let server: FakeHomeserver
        private let maximumPages: Int
        private let ids = Lock<[String]>([])
        private let replacements = Lock<[String: String]>([:])

        /// - Parameter maximumPages: The number of pages that a relay may request.
        init(limit: Int = 100, maximumPages: Int = 1000) async throws {
            self.maximumPages = maximumPages
            server = try await FakeHomeserver.start()
            let (ids, replacements) = (ids, replacements)
            server.on("GET", "v3/sync") { request in
                let all = ids.withLock { $0 }
                let since = request.parameter("since").flatMap { Int($0.dropFirst()) }
                let new = all.dropFirst(since ?? max(all.count - limit, 0))
                let next = "s\(all.count)"
                guard since == nil || !new.isEmpty else { return Sync.answer(next).after(.milliseconds(20)) }
                let room = Sync.room(
                    timeline: new.suffix(limit).map { id in
                        replacements.withLock { $0[id] } ?? Sync.message(id)
                    }, isLimited: new.count > limit,
                    prevBatch: "s\(all.count - new.suffix(limit).count)")
                return Sync.answer(next, room)
            }
        }

        /// Serves the events that a sync has omitted, in answers of seven events.
        ///
        /// - Parameter fault: Returns an answer to send instead, before a given event.
        func tellHistory(_ fault: @escaping @Sendable (_ from: Int) -> FakeAnswer? = { _ in nil }) {
            let ids = ids
            server.on("GET", "v3/rooms/*/messages") { request in
                func place(_ name: String) -> Int { request.parameter(name).flatMap { Int($0.dropFirst()) } ?? 0 }
                let (from, to) = (place("from"), place("to"))
                guard request.parameter("dir") == "b" else { return .error(400, "M_INVALID_PARAM") }
                if let answer = fault(from) { return answer }
                let chunk = ids.withLock { $0[max(to, from - 7)..<from].reversed() }
                return Self.page(chunk.map { Sync.message($0) }, end: chunk.isEmpty ? nil : from - chunk.count)
            }
        }

        static func page(_ events: [String], end: Int?) -> FakeAnswer {
            let end = end.map { #","end":"s\#($0)""# } ?? ""
            return .json(#"{"chunk":[\#(events.joined(separator: ","))],"start":"s"\#(end)}"#)
        }

        /// Replaces the event with that ID in syncs.
        func replace(_ id: String, by event: String) { replacements.withLock { $0[id] = event } }

        func say(_ new: some Sequence<Int>) { ids.withLock { $0 += new.map { "$\($0)" } } }

        func source() -> MatrixRelaySource {
            var history = MatrixHistory(client: .make(server))
            history.maximumPages = maximumPages
            return MatrixRelaySource(history)
        }
    }

    private func names(_ numbers: some Sequence<Int>) -> [String] { numbers.map { "!r:s/$\($0)" } }

    @Test func aMatrixAccountGoesOnWhereTheLastRelayWas_andEachEventIsThereOnce() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let room = try await Room()
        room.say(1...3)
        let first = try RunningRelay("a", nats, room.source())
        #expect(await first.hasReported("relaying matrix:@a:s"), "\(first.text)")
        room.say(4...6)
        #expect(await has(names(4...6), nats), "\(first.text)")
        let isStored = await eventually(within: .seconds(20)) {
            (try? await position("matrix:@a:s", nats))?.position.hasSuffix(" s6") ?? false
        }
        #expect(isStored)
        let second = try RunningRelay("b", nats, room.source())
        await first.stop()
        #expect(await second.hasReported("resuming at the stored position"), "\(second.text)")
        room.say(7...9)
        #expect(await has(names(4...9), nats), "\(second.text)")
        #expect(try await gapCount(nats) == 0)
        await second.stop()
        await room.server.stop()
    }

    /// The relay died before storing its position, and its successor came after the stream had forgotten the IDs.
    @Test func afterAnOutageThatIsLongerThanTheStreamRemembers_eachEventIsThereOnce() async throws {
        let nats = try await NATSServer()
        let connection = try await nats.connect()
        defer { connection.close() }
        _ = try await connection.setUp(
            .events(replicas: 1, maximumBytes: 64 << 20, duplicateWindow: .milliseconds(200)))
        _ = try await connection.setUp(.records(replicas: 1))
        let room = try await Room()
        let first = try RunningRelay("a", nats, room.source())
        #expect(await first.hasReported("relaying matrix:@a:s"), "\(first.text)")
        room.say(1...3)
        #expect(await has(names(1...3), nats), "\(first.text)")
        let isStored = await eventually(within: .seconds(20)) {
            (try? await position("matrix:@a:s", nats))?.position.hasSuffix(" s3") ?? false
        }
        #expect(isStored)
        let old = try #require(try await position("matrix:@a:s", nats))
        room.say(4...6)
        #expect(await has(names(1...6), nats), "\(first.text)")
        await first.stop()
        // As if the last position had not been stored.
        let record = OutgoingMessage(
            subject: "$KV.RELAY.c.\(SubjectToken.encode("matrix:@a:s"))", payload: Array(old.json.compactText.utf8))
        _ = try await connection.publish(record)
        _ = try await connection.publish(.make(id: "probe"))
        let isForgotten = await eventually {
            (try? await connection.publish(.make(id: "probe")))?.isDuplicate == false
        }
        #expect(isForgotten)
        let second = try RunningRelay("b", nats, room.source())
        #expect(await second.hasReported("resuming at the stored position"), "\(second.text)")
        room.say(7...9)
        #expect(await has(names(1...9), nats), "\(second.text)")
        await second.stop()
        await room.server.stop()
    }

    @Test func whatCameWhileNoRelayRan_isReadLater() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let room = try await Room()
        for part in [1...2, 3...50, 51...52] {
            room.say(part)
            let relay = try RunningRelay("a", nats, room.source())
            #expect(await relay.hasReported("relaying matrix:@a:s"), "\(relay.text)")
            room.say([part.upperBound * 1000])
            let isThere = await eventually(within: .seconds(20)) {
                (try? await ids(nats))?.last == "!r:s/$\(part.upperBound * 1000)"
            }
            #expect(isThere, "\(relay.text)")
            await relay.stop()
        }
        #expect(try await ids(nats) == names([2000] + Array(3...50) + [50000, 51, 52, 52000]))
        await room.server.stop()
    }

    /// Sends forty events, of which a relay has seen two.
    private func beginLongOutage(_ room: Room) async throws -> NATSServer {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        let first = try RunningRelay("a", nats, room.source())
        #expect(await first.hasReported("relaying matrix:@a:s"), "\(first.text)")
        room.say(1...2)
        #expect(await has(names(1...2), nats), "\(first.text)")
        await first.stop()
        room.say(3...40)
        return nats
    }

    /// Runs a relay that begins after the outage, with syncs of ten events.
    ///
    /// - Returns: The content of the stream once the last event is in it, and the number of gaps.
    private func afterALongOutage(
        _ room: Room, saying more: ClosedRange<Int>? = nil, _ history: () -> Void
    ) async throws -> (ids: [String], gaps: Int) {
        let nats = try await beginLongOutage(room)
        history()
        let second = try RunningRelay("a", nats, room.source())
        if let more {
            let isAsked = await eventually { !room.server.requests("GET", "v3/rooms/*/messages").isEmpty }
            #expect(isAsked)
            room.say(more)
        }
        let last = "!r:s/$\(more?.upperBound ?? 40)"
        let isThere = await eventually(within: .seconds(20)) { (try? await ids(nats))?.last == last }
        #expect(isThere, "\(second.text)")
        await second.stop()
        await room.server.stop()
        return (try await ids(nats), try await gapCount(nats))
    }

    @Test func whatASyncLeavesOutAfterALongOutageIsAskedFor() async throws {
        let room = try await Room(limit: 10)
        let found = try await afterALongOutage(room) { room.tellHistory() }
        #expect(found.ids == names(1...40) && found.gaps == 0)
        let asked = room.server.requests("GET", "v3/rooms/*/messages")
        #expect(asked.map { $0.parameter("from") } == ["s2", "s30", "s23", "s16", "s9", "s2"])
        #expect(asked.dropFirst().allSatisfy { $0.parameter("to") == "s2" })
    }

    /// Servers order the history by the room's graph, but a sync by arrival.
    @Test func whatASyncHasBroughtMayStandAnywhereInTheHistory() async throws {
        let room = try await Room(limit: 10)
        let found = try await afterALongOutage(room) {
            room.tellHistory { from in
                let numbers = [35, 30, 29, 40, 28, 27, 26, 25, 24]
                return from == 30 ? Room.page(numbers.map { Sync.message("$\($0)") }, end: 23) : nil
            }
        }
        #expect(found.ids == names(1...40) && found.gaps == 0)
    }

    private func membership(_ id: String, _ membership: String) -> String {
        #"{"type":"m.room.member","event_id":"\#(id)","sender":"@a:s","state_key":"@a:s","origin_server_ts":1,"#
            + #""content":{"membership":"\#(membership)"}}"#
    }

    @Test func whatWasSaidWhileTheUserWasNotThereIsLeftOut() async throws {
        let room = try await Room(limit: 10)
        let (leaving, joining) = (membership("$leaving", "leave"), membership("$joining", "join"))
        let found = try await afterALongOutage(room) {
            room.tellHistory { from in
                let numbers = [30, 29, 28, 27, 26].map { Sync.message("$\($0)") }
                let events = numbers[..<2] + [joining] + numbers[2..<4] + [leaving] + numbers[4...]
                return from == 30 ? Room.page(Array(events), end: 2) : nil
            }
        }
        let seen = names([26]) + ["!r:s/$leaving", "!r:s/$joining"] + names(29...40)
        #expect(found.ids == names(1...2) + seen && found.gaps == 0)
    }

    @Test func aHomeserverThatGoesOnBehindTheLastSyncIsStopped() async throws {
        let room = try await Room(limit: 10)
        let found = try await afterALongOutage(room) {
            room.tellHistory { from in
                Room.page((from - 7..<from).reversed().map { Sync.message("$\($0 + 1)") }, end: from - 7)
            }
        }
        #expect(found.ids == names(1...40) && found.gaps == 0)
    }

    @Test func whatComesMeanwhileStandsBehindIt() async throws {
        let room = try await Room(limit: 10)
        let isFirst = Lock(true)
        let found = try await afterALongOutage(room, saying: 41...45) {
            // Longer than a sync takes, and with an empty answer.
            room.tellHistory { _ in
                let wasFirst = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                return wasFirst ? .json("", status: 502).after(.milliseconds(300)) : nil
            }
        }
        #expect(found.ids == names(1...45) && found.gaps == 0)
    }

    @Test func whatTheHomeserverDoesNotGiveIsAGap() async throws {
        let room = try await Room(limit: 10)
        let found = try await afterALongOutage(room) {
            room.tellHistory { $0 > 16 ? nil : .error(403, "M_FORBIDDEN") }
        }
        #expect(found.ids == names(Array(1...2) + Array(17...40)) && found.gaps == 1)
    }

    @Test(arguments: [#"{"start":"s","chunk":[]}"#, "{}", #"{"chunk":[],"end":"s30"}"#])
    func ofAHomeserverThatSaysNothingThereIsAGap(answer: String) async throws {
        let room = try await Room(limit: 10)
        let found = try await afterALongOutage(room) { room.tellHistory { _ in .json(answer) } }
        #expect(found.ids == names(Array(1...2) + Array(31...40)) && found.gaps == 1)
    }

    /// Earlier events are not for the user, except for those before the user left, and their place is unknown.
    @Test func whoHasJoinedMeanwhileIsToldOfAGap() async throws {
        let room = try await Room(limit: 10)
        let found = try await afterALongOutage(room) {
            room.replace("$33", by: membership("$33", "join"))
            room.tellHistory()
        }
        #expect(found.ids == names(Array(1...2) + Array(34...40)) && found.gaps == 1)
        #expect(room.server.requests("GET", "v3/rooms/*/messages").isEmpty)
    }

    @Test func aHistoryThatIsTooLargeIsReadFromItsEnd() async throws {
        let room = try await Room()
        room.say(1...40)
        room.tellHistory()
        var history = MatrixHistory(client: .make(room.server))
        history.maximumBytes = 1000
        let answer = try #require(await history.events(of: "!r:s", from: "s2", to: "s30") { _ in })
        #expect(answer.failure == "it is more than a relay reads")
        let numbers = answer.events.compactMap { Int($0.eventId.dropFirst()) }
        #expect(numbers.last == 30 && numbers == Array((numbers.first ?? 0)...30) && (7..<28).contains(numbers.count))
        await room.server.stop()
    }

    @Test func aHomeserverThatFailsForTooLongIsNotWaitedFor() async throws {
        let room = try await Room()
        room.tellHistory { _ in .json("", status: 502) }
        var history = MatrixHistory(client: .make(room.server))
        history.patience = .zero
        let answer = await history.events(of: "!r:s", from: "s2", to: "s30") { _ in }
        #expect(answer?.failure?.contains("502") == true && answer?.events.isEmpty == true)
        await room.server.stop()
    }

    @Test func aHistoryWithoutAnEndIsAGap() async throws {
        let room = try await Room(limit: 10, maximumPages: 20)
        let found = try await afterALongOutage(room) { room.tellHistory { Room.page([], end: $0 + 1) } }
        #expect(found.ids == names(Array(1...2) + Array(31...40)) && found.gaps == 1)
        #expect(room.server.requests("GET", "v3/rooms/*/messages").count == 21)
    }

    /// If the login or the relay ends while a gap is being filled, neither may report the gap that the next relay will
    /// fill.
    @Test(arguments: [true, false]) func whoEndsMeanwhileLeavesTheGapToTheNextOne(isLoggedOut: Bool) async throws {
        let room = try await Room(limit: 10)
        let nats = try await beginLongOutage(room)
        room.tellHistory { _ in isLoggedOut ? .error(401, "M_UNKNOWN_TOKEN") : .json("{}").after(.seconds(60)) }
        let source = room.source()
        let second = try RunningRelay("a", nats, source)
        let isRefused = await eventually { !room.server.requests("GET", "v3/rooms/*/messages").isEmpty }
        #expect(isRefused)
        // No heartbeat claims that the stream has everything up to now.
        #expect(await eventually { source.completeTime.map { $0 < Date() } == true })
        let start = ContinuousClock.now
        await second.stop()
        #expect(.now - start < .seconds(8), "it does not wait for the homeserver")
        #expect(source.completeTime == nil)
        room.tellHistory()
        let third = try RunningRelay("a", nats, room.source())
        #expect(await has(names(1...40), nats), "\(third.text)")
        #expect(try await gapCount(nats) == 0)
        await third.stop()
        await room.server.stop()
    }

    // MARK: Pydio

    private func source(_ server: FakePydioServer) -> PydioRelaySource {
        let params = ServersParamsManager()
        params.setUser(User(userid: "ada", password: "open sesame"), forServer: server.url)
        var options = PydioClientOptions()
        options.proxy = ""
        options.completionQueue = DispatchQueue(label: "test")
        var events = PydioEventsOptions()
        (events.pollInterval, events.minimumPollInterval) = (.milliseconds(10), .milliseconds(10))
        return PydioRelaySource(
            client: PydioClient(server: server.url, params: params, options: options), workspaceId: "0",
            options: events)
    }

    @Test func aPydioWorkspaceGoesOnWhereTheLastRelayWas_andItsPositionNeverGoesBack() async throws {
        let nats = try await NATSServer()
        try await nats.connectWithStreams().close()
        var configuration = FakePydioServer.Configuration()
        configuration.hasChanges = true
        let server = try await FakePydioServer.start(configuration)
        func make(_ numbers: ClosedRange<Int>) {
            for number in numbers { server.act("mkdir", ["dir": "/", "dirname": "f\(number)"], as: "ada") }
        }
        @Sendable func paths() async throws -> [String] {
            try await nats.messages().compactMap { message in
                guard case .event(let event) = message.content else { return nil }
                return event.json["path"]?.string
            }
        }
        let expected = Lock<[String]>([])
        var last = 0
        var relays: [RunningRelay] = []
        for round in 0..<3 {
            let new = try RunningRelay("r\(round)", nats, source(server))
            if let old = relays.last { await old.stop() }
            relays.append(new)
            #expect(await new.hasReported("relaying pydio:0"), "\(new.text)")
            make(round * 3...round * 3 + 2)
            expected.withLock { $0 += (round * 3...round * 3 + 2).map { "/f\($0)" } }
            let isThere = await eventually(within: .seconds(20)) {
                (try? await paths()) == expected.withLock { $0 }
            }
            #expect(isThere, "\(new.text)")
            let isStored = await eventually(within: .seconds(20)) {
                (try? await position("pydio:0", nats)).flatMap { Int($0.position) } == server.lastChange
            }
            #expect(isStored)
            let sequence = try #require(try await position("pydio:0", nats).flatMap { Int($0.position) })
            #expect(sequence > last)
            last = sequence
        }
        for relay in relays { await relay.stop() }
        await server.stop()
    }
}
