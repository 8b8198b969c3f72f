import Basics
import Foundation
import MatrixKit
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@MainActor @Suite(.overSockets) struct PagingTests {
    private static let messages = "v3/rooms/*/messages"

    private nonisolated static func page(_ ids: ClosedRange<Int>, end: String? = nil) -> FakeAnswer {
        let chunk = ids.reversed().map { Sync.message("$\($0)", "\($0)", ts: $0) }.joined(separator: ",")
        return .json(#"{"start":"x","chunk":[\#(chunk)]\#(end.map { #","end":"\#($0)""# } ?? "")}"#)
    }

    private func room() async throws -> LiveRoom {
        try await LiveRoom(timeline: [Sync.message("$30", "30", ts: 30)], prevBatch: "p")
    }

    @Test func theStoreIsPagedFirst_thenTheServer() async throws {
        let room = try await room()
        room.scene.server.on("GET", Self.messages, [Self.page(20...29, end: "q"), Self.page(10...19)])
        try await room.source.paginate(1, direction: .backwards, onlyFromStore: true)
        #expect(room.ids == ["$30"])
        try await room.source.paginate(10, direction: .backwards)
        try await room.source.paginate(10, direction: .backwards)
        #expect(room.ids == (10...30).map { "$\($0)" })
        #expect(!room.source.canPaginate(.backwards))
        #expect(try await room.source.paginate(10, direction: .backwards) == 0)
        #expect(room.scene.server.requests("GET", Self.messages).count == 2)
    }

    @Test func aSecondPageWaitsForTheFirst() async throws {
        let room = try await room()
        room.scene.server.on(
            "GET", Self.messages, [Self.page(20...29, end: "q").after(.milliseconds(200)), Self.page(10...19)])
        try await room.source.paginate(1, direction: .backwards)
        let order = Lock<[String]>([])
        for name in ["first", "second"] {
            room.source.paginate(
                10, direction: .backwards, onlyFromStore: false, success: { _ in order.withLock { $0.append(name) } },
                failure: { _ in order.withLock { $0.append("failed") } })
        }
        #expect(await eventually { order.withLock { $0.count } == 2 })
        #expect(order.withLock { $0 } == ["first", "second"])
        #expect(room.ids == (10...30).map { "$\($0)" })
    }

    @Test func aFailureIsTold_andThePageCanBeAskedForAgain() async throws {
        let room = try await room()
        room.scene.server.on("GET", Self.messages, [.error(403, "M_FORBIDDEN"), Self.page(20...29)])
        try await room.source.paginate(1, direction: .backwards)
        await #expect(throws: (any Error).self) { try await room.source.paginate(10, direction: .backwards) }
        try await room.source.paginate(10, direction: .backwards)
        #expect(room.ids == (20...30).map { "$\($0)" })
    }

    /// Each closure is called once, with no other effect.
    @Test func whoeverDestroysItHearsOfEachPageOnce() async throws {
        let room = try await room()
        room.scene.server.on("GET", Self.messages, Self.page(20...29, end: "q").after(.milliseconds(200)))
        try await room.source.paginate(1, direction: .backwards)
        let ends = Lock<[UInt]>([])
        for _ in 0..<3 {
            room.source.paginate(
                10, direction: .backwards, onlyFromStore: false,
                success: { count in ends.withLock { $0.append(count) } },
                failure: { _ in ends.withLock { $0.append(99) } })
        }
        #expect(await room.scene.server.hasBeenAsked("GET", Self.messages))
        let told = room.wasTold
        room.source.destroy()
        room.source.destroy()
        #expect(await eventually { ends.withLock { $0.count } == 3 })
        #expect(ends.withLock { $0 } == [0, 0, 0])
        #expect(room.wasTold == told)
        #expect(room.scene.server.requests("GET", Self.messages).count == 1)
    }

    /// The server reports a gap during paging: the pending page belongs to the timeline before it.
    @Test func aGapWhilePagingBeginsAnew() async throws {
        let room = try await room()
        let isSlow = Lock(true)
        room.scene.server.on("GET", Self.messages) { _ in
            isSlow.withLock { $0 } ? Self.page(20...29).after(.milliseconds(500)) : Self.page(90...98)
        }
        try await room.source.paginate(1, direction: .backwards)
        let ends = Lock<[UInt]>([])
        room.source.paginate(
            10, direction: .backwards, onlyFromStore: false, success: { count in ends.withLock { $0.append(count) } },
            failure: { _ in ends.withLock { $0.append(99) } })
        #expect(await room.scene.server.hasBeenAsked("GET", Self.messages))
        await room.scene.next(
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$99", "99", ts: 99)], isLimited: true, prevBatch: "g"))
        )
        #expect(await eventually { await room.ids == ["$99"] })
        #expect(await eventually { ends.withLock { $0.count } == 1 })
        #expect(room.ids == ["$99"])
        isSlow.withLock { $0 = false }
        try await room.source.paginate(10, direction: .backwards)
        #expect(room.ids == (90...99).map { "$\($0)" })
        #expect(ends.withLock { $0.count } == 1)
    }

    // MARK: Around an event

    private func around(_ scene: SessionScene) -> MXKRoomDataSource {
        let source = MXKRoomDataSource(roomId: "!r:s", initialEventId: "$50", andMatrixSession: scene.session)
        return source
    }

    private static func ids(_ source: MXKRoomDataSource) -> [String] {
        (0..<source.numberOfCells).flatMap { source.cellData(at: $0)?.events.map(\.eventId) ?? [] }
    }

    @Test func aPermalinkIsPagedBothWays() async throws {
        let room = try await room()
        room.scene.server.on(
            "GET", "v3/rooms/*/context/*",
            .json(
                #"""
                {"start":"b","end":"f","event":\#(Sync.message("$50", "50", ts: 50)),
                "events_before":[\#(Sync.message("$49", "49", ts: 49))],"events_after":[\#(Sync.message("$51", "51", ts: 51))],"state":[]}
                """#))
        room.scene.server.on("GET", Self.messages) { request in
            let isBackwards = request.parameter("dir") == "b"
            let ids = isBackwards ? [48, 47] : [52, 53]
            return .json(
                #"{"start":"x","chunk":[\#(ids.map { Sync.message("$\($0)", "\($0)", ts: $0) }.joined(separator: ","))]}"#
            )
        }
        let source = around(room.scene)
        await source.whenPrepared()
        #expect(source.state == .ready && !source.isLive)
        #expect(Self.ids(source) == ["$49", "$50", "$51"])
        try await source.paginate(10, direction: .forwards)
        try await source.paginate(10, direction: .backwards)
        #expect(Self.ids(source) == (47...53).map { "$\($0)" })
        #expect(!source.canPaginate(.forwards) && !source.canPaginate(.backwards))
    }

    @Test func aPermalinkThatLeadsNowhereFails() async throws {
        let room = try await room()
        room.scene.server.on("GET", "v3/rooms/*/context/*", .error(404, "M_NOT_FOUND"))
        let source = around(room.scene)
        await source.whenPrepared()
        #expect(source.state == .failed)
    }

    @Test func aRoomThatIsJoinedLaterIsShownThen() async throws {
        let room = try await room()
        let source = MXKRoomDataSource(roomId: "!later:s", andMatrixSession: room.scene.session)
        await source.whenPrepared()
        #expect(source.state == .failed)
        await room.scene.next(Sync.answer("s2", Sync.room("!later:s", state: Sync.members)))
        #expect(await eventually { await source.state == .ready })
    }

    /// Discarded events come back unchanged, whatever their number and the pages.
    @Test(arguments: 0..<20 as Range<UInt64>) func whatIsForgottenComesAgain(seed: UInt64) async throws {
        var random = XorShift(seed: seed)
        let timeline = (1...60).map { number in
            switch Int.random(in: 0..<5, using: &random) {
            case 0: Sync.member("@j\(number):s", id: "$\(number)")
            case 1: Sync.reaction("$\(number)", to: "$1")
            default: Sync.message("$\(number)", "\(number)", ts: number)
            }
        }
        let room = try await LiveRoom(timeline: timeline)
        func pageAll() async throws {
            while room.source.canPaginate(.backwards) {
                try await room.source.paginate(.random(in: 1...20, using: &random), direction: .backwards)
            }
        }
        try await pageAll()
        let (ids, texts) = (room.ids, room.texts)
        for _ in 0..<5 {
            let kept = Int.random(in: 1...20, using: &random)
            let cells = room.source.numberOfCells
            room.source.forgetOlder(keeping: kept)
            #expect(room.source.numberOfCells <= max(kept, 1) || room.source.numberOfCells == cells)
            #expect(Array(ids.suffix(room.ids.count)) == room.ids)
            try await pageAll()
            #expect(room.ids == ids && room.texts == texts)
        }
    }

    /// As if a room is shown twice: each view shows all of it.
    @Test func twoDataSourcesOfOneRoomPageEachForItself() async throws {
        let room = try await room()
        room.scene.server.on("GET", Self.messages, [Self.page(20...29, end: "q"), Self.page(10...19)])
        let other = MXKRoomDataSource(roomId: "!r:s", andMatrixSession: room.scene.session)
        for _ in 0..<3 { try await room.source.paginate(10, direction: .backwards) }
        #expect(other.canPaginate(.backwards))
        for _ in 0..<5 { try await other.paginate(5, direction: .backwards) }
        let ids = (0..<other.numberOfCells).flatMap { other.cellData(at: $0)?.events.map(\.eventId) ?? [] }
        #expect(ids == (10...30).map { "$\($0)" })
        #expect(room.ids == ids)
        // Neither does reloading one replace the other.
        other.reload()
        #expect(!room.source.canPaginate(.backwards))
        #expect(room.scene.server.requests("GET", Self.messages).count == 2)
    }
}
