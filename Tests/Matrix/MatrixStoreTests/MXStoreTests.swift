import Foundation
import MatrixProtocol
import MatrixSDK
import Testing

/// Behavior of every store.
struct MXStoreTests {
    // MARK: Timelines

    @Test(arguments: StoreUnderTest.Make.allCases)
    func eventsComeBackAsTheyWereReceived(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        let json = #"{ "type":"m.room.message", "event_id":"$1","content":{"body":"ü \n 😀","n":1e2},"odd":[] }"#
        try test.commit { $0.timeline = [.make(json)] }
        let event = try #require(try test.store.event("$1", in: "!r"))
        #expect(String(decoding: event.data, as: UTF8.self) == json)
        #expect(event.roomId == "!r")
        #expect(try test.store.event("$2", in: "!r") == nil)
        #expect(try test.store.event("$1", in: "!other") == nil)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func newEventsGoToTheEndAndOlderOnesBeforeTheBeginning(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit { $0.timeline = (10...12).messages }
        try test.commit { $0.older = (7...9).reversed().messages }
        try test.commit { $0.timeline = (13...14).messages }
        try test.commit { $0.older = (5...6).reversed().messages }
        #expect(try test.timeline() == (5...14).ids)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func olderEventsMayComeFirst(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit { $0.older = [2, 1].messages }
        try test.commit { $0.timeline = [3].messages }
        #expect(try test.timeline() == (1...3).ids)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func pagesJoinWithoutHolesOrDoubles(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit {
            $0.timeline = (50..<100).messages
            $0.older = (0..<50).reversed().messages
        }
        var (read, position): ([String], String?) = ([], nil)
        while case let page = try test.store.events(in: "!r", before: position, limit: 7), !page.isEmpty {
            read += page.map(\.eventId)
            position = page.last?.eventId
        }
        #expect(read == (0..<100).reversed().ids)
        #expect(try test.store.events(in: "!r", before: "$unknown", limit: 7).isEmpty)
        #expect(try test.store.events(in: "!r", before: nil, limit: 0).isEmpty)
        #expect(try test.store.events(in: "!r", before: nil, limit: -1).isEmpty)
        #expect(try test.store.events(in: "!r", before: "$99", limit: .max).count == 99)
        #expect(try test.store.events(in: "!none", before: nil, limit: 7).isEmpty)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func theSameCommitAgainChangesNothing(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        for _ in 0..<3 {
            try test.commit {
                $0.timeline = (3...5).messages
                $0.older = [2, 1].messages
                $0.state = [.state("m.room.name")]
                $0.receipts = [MXReceipt(userId: "@bob:x", eventId: "$5")]
            }
        }
        #expect(try test.timeline() == (1...5).ids)
        #expect(try test.store.state(of: "!r").count == 1)
        #expect(try test.store.receipts(in: "!r").count == 1)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aKnownEventKeepsItsPlace(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit { $0.timeline = [1, 2, 3].messages }
        try test.commit { $0.timeline = [2, 4, 3, 5].messages }
        try test.commit { $0.older = [4, 0, 1].messages }
        #expect(try test.timeline() == (0...5).ids)
    }

    /// Texts that are equal as Swift strings but differ in bytes.
    @Test(arguments: StoreUnderTest.Make.allCases)
    func idsThatOnlyLookAlikeAreTwo(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        let ids = ["\u{e9}", "e\u{301}"]
        try test.commit {
            $0.state = ids.map {
                .state("m.room.member", key: "@" + $0, content: #"{"displayname":"\#($0.utf8.count)"}"#)
            }
            $0.timeline = ids.map { .message("$" + $0, body: "\($0.utf8.count)") }
            $0.receipts = ids.map { MXReceipt(userId: "@" + $0, eventId: "$" + $0) }
        }
        #expect(try test.store.state(of: "!r").count == 2)
        #expect(try test.store.receipts(in: "!r").count == 2)
        for id in ids {
            let member = try test.store.stateEvent(of: "!r", type: "m.room.member", key: "@" + id)
            #expect(member?.content["displayname"] as? String == "\(id.utf8.count)")
            #expect(try test.store.event("$" + id, in: "!r")?.content["body"] as? String == "\(id.utf8.count)")
        }
        #expect(try test.store.events(in: "!r", before: "$" + ids[1], limit: 5).count == 1)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func equalIdsInTwoRoomsAreTwoEvents(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit("!a") { $0.timeline = [.message("$1", body: "a")] }
        try test.commit("!b") { $0.timeline = [.message("$1", body: "b")] }
        #expect(try test.store.event("$1", in: "!a")?.content["body"] as? String == "a")
        #expect(try test.store.event("$1", in: "!b")?.content["body"] as? String == "b")
        #expect(try test.timeline("!a") == ["$1"])
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func afterAGapTheOldTimelineIsGone(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit {
            $0.timeline = (1...5).messages
            $0.state = [.state("m.room.name")]
        }
        try test.commit {
            $0.dropsTimeline = true
            $0.timeline = [5, 9, 10].messages
        }
        #expect(try test.timeline() == [5, 9, 10].ids)
        #expect(try test.store.state(of: "!r").count == 1)
        try test.commit { $0.older = [8].messages }
        #expect(try test.timeline() == [8, 5, 9, 10].ids)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aRedactedEventTakesThePlaceOfTheOldOne(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit { $0.timeline = [.message("$1"), .message("$2", relatesTo: "$1"), .message("$3")] }
        try test.commit {
            $0.replaced = [
                .make(#"{"type":"m.room.message","event_id":"$2","content":{},"unsigned":{"redacted_because":{}}}"#),
                .message("$unknown"),
            ]
        }
        #expect(try test.timeline() == (1...3).ids)
        #expect(try test.store.event("$2", in: "!r")?.isRedacted == true)
        #expect(try test.store.relations(to: "$1", in: "!r").isEmpty)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func relationsComeOldestFirst(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit {
            $0.timeline = [.message("$10", relatesTo: "$1"), .message("$11"), .message("$12", relatesTo: "$2")]
        }
        try test.commit { $0.timeline = [.message("$13", relatesTo: "$1")] }
        try test.commit { $0.older = [.message("$9", relatesTo: "$1")] }
        #expect(try test.store.relations(to: "$1", in: "!r").map(\.eventId) == ["$9", "$10", "$13"])
        #expect(try test.store.relations(to: "$1", in: "!other").isEmpty)
        let each = try test.store.relations(toEach: ["$2", "$1", "$3"], in: "!r")
        #expect(each.mapValues { $0.map(\.eventId) } == ["$1": ["$9", "$10", "$13"], "$2": ["$12"]])
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aStoreCanKeepEverything(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make, eventsPerRoom: .max)
        try test.commit { $0.timeline = (1...3).messages }
        #expect(try test.store.trimTimeline(of: "!r") == nil)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func knownEventsAreThoseOfTheTimeline(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit {
            $0.timeline = (1...3).messages
            $0.state = [.make(#"{"type":"m.room.name","state_key":"","event_id":"$7","content":{}}"#)]
        }
        #expect(try test.store.knownEvents(among: (2...9).ids, in: "!r") == [2, 3].ids)
        #expect(try test.store.knownEvents(among: [], in: "!r").isEmpty)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func anEventWithoutAnIdIsPassedOver(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit { $0.timeline = [.data("m.room.message"), .message("$1")] }
        #expect(try test.timeline() == ["$1"])
    }

    /// SQLite ends a text at a zero.
    @Test(arguments: StoreUnderTest.Make.allCases)
    func idsWithAZeroInsideAreIdsOfTheirOwn(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit {
            $0.timeline = [.message("$1"), .message(#"$1\u0000x"#)]
            $0.state = [.state("m.room.member", key: "@a"), .state("m.room.member", key: #"@a\u0000"#)]
        }
        #expect(try test.timeline() == ["$1", "$1\0x"])
        #expect(try test.store.event("$1\0x", in: "!r")?.eventId == "$1\0x")
        #expect(try test.store.state(of: "!r").count == 2)
    }

    // MARK: Trimming

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aLongTimelineIsCutWhereTheServerGoesOn(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make, eventsPerRoom: 20)
        var changes = MXStoreChanges()
        for batch in 0..<12 {
            var room = MXStoreChanges.Room()
            room.timeline = (batch * 3..<batch * 3 + 3).messages
            room.timelineToken = "t\(batch)"
            room.summary = MXRoomSummary(roomId: "!r")
            changes.rooms["!r"] = room
            try test.store.commit(changes)
        }
        // Of 36 events 20 stay, plus one, because a batch is not cut.
        #expect(try test.store.trimTimeline(of: "!r") == "t5")
        #expect(try test.timeline() == (15..<36).ids)
        #expect(try test.store.trimTimeline(of: "!r") == nil)
        #expect(try test.store.trimTimeline(of: "!none") == nil)
        // Discarded events come back from the server, at the front.
        try test.commit {
            $0.older = (12..<15).reversed().messages
            $0.olderToken = "t4"
        }
        #expect(try test.timeline() == (12..<36).ids)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aTimelineWithoutATokenStaysWhole(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make, eventsPerRoom: 5)
        try test.commit {
            $0.timeline = (0..<50).messages
            $0.timelineToken = "t"
        }
        #expect(try test.store.trimTimeline(of: "!r") == nil)
        #expect(try test.timeline().count == 50)
    }

    /// The token belongs to the point before an event that arrived last time, and fits no other.
    @Test(arguments: StoreUnderTest.Make.allCases)
    func theTokenOfAnEventThatWasThereIsNotTaken(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make, eventsPerRoom: 4)
        try test.commit {
            $0.timeline = [1, 2, 3].messages
            $0.timelineToken = "t1"
        }
        try test.commit {
            $0.timeline = (3...8).messages
            $0.timelineToken = "t3"
        }
        #expect(try test.store.trimTimeline(of: "!r") == nil)
        #expect(try test.timeline() == (1...8).ids)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func pagesOfHistoryAreCutAtTheirEnds(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make, eventsPerRoom: 1000)
        try test.commit { $0.timeline = [100].messages }
        for page in 0..<10 {
            try test.commit {
                $0.older = (90 - page * 10..<100 - page * 10).reversed().messages
                $0.olderToken = "p\(page)"
            }
        }
        let small = try StoreUnderTest(make, eventsPerRoom: 15)
        try small.commit { $0.timeline = [100].messages }
        for page in 0..<3 {
            var changes = MXStoreChanges()
            var room = MXStoreChanges.Room()
            room.older = (90 - page * 10..<100 - page * 10).reversed().messages
            room.olderToken = "p\(page)"
            changes.rooms["!r"] = room
            try small.store.commit(changes)
        }
        #expect(try small.store.trimTimeline(of: "!r") == "p1")
        #expect(try small.timeline() == (80...100).ids)
        #expect(try test.timeline() == (0...100).ids)
    }

    // MARK: State, receipts, account data

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aStateEventTakesThePlaceOfTheOneWithItsTypeAndKey(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit {
            $0.state = [
                .state("m.room.name", content: #"{"name":"a"}"#), .state("m.room.member", key: "@a"),
                .state("m.room.member", key: "@b"), .state("m.room.name", content: #"{"name":"b"}"#),
                .data("m.room.topic"),
            ]
        }
        let state = try test.store.state(of: "!r")
        #expect(state.count == 3)
        #expect(state.first { $0.type == "m.room.name" }?.content["name"] as? String == "b")
        #expect(state.allSatisfy { $0.roomId == "!r" })
        let name = try test.store.stateEvent(of: "!r", type: "m.room.name", key: "")
        #expect(name?.content["name"] as? String == "b" && name?.roomId == "!r")
        #expect(try test.store.stateEvent(of: "!r", type: "m.room.member", key: "@b")?.stateKey == "@b")
        #expect(try test.store.stateEvent(of: "!r", type: "m.room.member", key: "") == nil)
        #expect(try test.store.stateEvent(of: "!none", type: "m.room.name", key: "") == nil)
        try test.commit {
            $0.replacesState = true
            $0.state = [.state("m.room.topic")]
        }
        #expect(try test.store.state(of: "!r").map(\.type) == ["m.room.topic"])
        #expect(try test.store.state(of: "!none").isEmpty)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func receiptsAreOneForEachUserTypeAndThread(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        let kept = [
            MXReceipt(userId: "@a", eventId: "$2", ts: 2),
            MXReceipt(userId: "@a", eventId: "$1", threadId: "main", ts: .max),
            MXReceipt(userId: "@a", eventId: "$1", type: "m.read.private"),
            MXReceipt(userId: "@b", eventId: "$1"),
        ]
        try test.commit { $0.receipts = [MXReceipt(userId: "@a", eventId: "$1", ts: 3)] }
        try test.commit { $0.receipts = kept }
        #expect(Set(try test.store.receipts(in: "!r")) == Set(kept))
        #expect(try test.store.receipts(in: "!other").isEmpty)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aRemovedRoomLeavesNothing(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        for roomId in ["!r", "!other"] {
            try test.commit(roomId) {
                $0.timeline = [1].messages
                $0.state = [.state("m.room.name")]
                $0.receipts = [MXReceipt(userId: "@a", eventId: "$1")]
                $0.summary = MXRoomSummary(roomId: roomId)
            }
        }
        try test.commit { $0.isRemoved = true }
        #expect(try test.timeline().isEmpty)
        #expect(try test.store.state(of: "!r").isEmpty)
        #expect(try test.store.receipts(in: "!r").isEmpty)
        #expect(try test.timeline("!other") == ["$1"])
        // And it may come back at once.
        try test.commit("!other") {
            $0.isRemoved = true
            $0.timeline = [2].messages
        }
        #expect(try test.timeline("!other") == ["$2"])
        #expect(try test.store.state(of: "!other").isEmpty)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func everythingCanBeReplaced(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        try test.commit("!old") { $0.timeline = [1].messages }
        var changes = MXStoreChanges()
        changes.replacesEverything = true
        changes.rooms["!new"] = MXStoreChanges.Room()
        changes.rooms["!new"]?.timeline = [2].messages
        try test.store.commit(changes)
        #expect(try test.timeline("!old").isEmpty)
        #expect(try test.timeline("!new") == ["$2"])
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func aStoreThatIsNotOpenSaysSo(make: StoreUnderTest.Make) throws {
        let test = try StoreUnderTest(make)
        #expect(throws: MatrixError.self) { try test.store.open(userId: "@b:x", deviceId: nil) }
        test.store.close()
        test.store.close()
        let error = #expect(throws: MatrixError.self) { try test.store.state(of: "!r") }
        #expect(error?.code == .store)
        #expect(throws: MatrixError.self) {
            var changes = MXStoreChanges()
            changes.syncToken = "s"
            try test.store.commit(changes)
        }
        try test.store.deleteAllData()
        _ = try test.store.open(userId: "@b:x", deviceId: nil)
    }

    @Test(arguments: StoreUnderTest.Make.allCases)
    func readersMayComeFromSeveralThreads(make: StoreUnderTest.Make) async throws {
        let test = try StoreUnderTest(make)
        try test.commit { $0.timeline = (0..<200).messages }
        let store = test.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<20 {
                        let events = try store.events(in: "!r", before: nil, limit: 1000).map(\.eventId)
                        #expect(Array(events.suffix(200)) == (0..<200).reversed().ids)
                    }
                }
            }
            for number in 200..<250 {
                var changes = MXStoreChanges()
                changes.rooms["!r"] = MXStoreChanges.Room()
                changes.rooms["!r"]?.timeline = [number].messages
                try store.commit(changes)
            }
            try await group.waitForAll()
        }
        #expect(try test.timeline() == (0..<250).ids)
    }
}
