import Basics
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSessionTestSupport
import Testing

@testable import MatrixSDK

/// Kept parts of an answer are small, however large the answer: an event is a view of the bytes that it arrived in.
@Suite struct EventMemoryTests {
    /// Makes an answer large without being stored with rooms.
    private static let presence = #"""
        "presence":{"events":[{"type":"m.presence","sender":"@z:s","content":{"status_msg":"\#(
            String(repeating: "x", count: 200_000))"}}]}
        """#
    /// Other rooms that make the answer large.
    private static let bulk = (0..<50).map { number in
        let message = Sync.message("$\(number)", String(repeating: "x", count: 2_000))
        return #""!\#(number):s":{"timeline":{"events":["# + message + "]}}"
    }.joined(separator: ",")

    private static func answer(_ section: String, _ more: String = "") -> String {
        #"{"next_batch":"s","rooms":{"join":{\#(bulk)}\#(section.isEmpty ? "" : ",")\#(section)}"#
            + (more.isEmpty ? "" : ",") + more + "}"
    }

    private static let room = #"""
        "join":{"!r:s":{"state":{"events":[\#(Sync.members.joined(separator: ","))]},"timeline":{"events":[
        {"type":"m.room.topic","event_id":"$t","sender":"@b:s","state_key":"","content":{"topic":"new"}},\#(Sync.message("$m"))
        ]},"account_data":{"events":[{"type":"m.tag","content":{"tags":{}}}]}},\#(bulk)}
        """#

    private func isSmall(_ event: MXEvent?) -> Bool { event.map { $0.json.bytes.count < 1_000 } ?? false }

    /// - Parameter isFirst: Whether it is the answer to a first sync.
    private func applied(_ text: String, isFirst: Bool) throws -> ModelScript {
        var script = try ModelScript()
        if !isFirst { try script.apply(#""presence":{}"#) }
        let applied = try script.model.apply(SyncResponse(Array(text.utf8)), store: script.store, now: .now)
        try script.store.commit(applied.changes)
        return script
    }

    @Test(arguments: [true, false])
    func aRoomsEventsDoNotKeepTheirAnswer(isFirst: Bool) throws {
        let more = isFirst ? "," + Self.presence : ""
        let script = try applied(#"{"next_batch":"s","rooms":{\#(Self.room)}\#(more)}"#, isFirst: isFirst)
        let state = try #require(script.room?.state)
        #expect(state.count == 3)
        #expect(state.stateEvents.allSatisfy { isSmall($0) })
        #expect(try script.store.state(of: "!r:s").allSatisfy { isSmall($0) })
        #expect(try script.store.events(in: "!r:s", before: nil, limit: 9).map { isSmall($0) } == [true, true])
        #expect(isSmall(script.room?.accountData["m.tag"]))
    }

    /// The whole answer is kept: separate bytes for each event would only double it.
    @Test func aFirstAnswerThatIsMostlyRoomsLivesOnAsOne() throws {
        let script = try applied(#"{"next_batch":"s","rooms":{\#(Self.room)}}"#, isFirst: true)
        let events = try script.store.events(in: "!r:s", before: nil, limit: 9)
        #expect(try events.count == 2 && script.store.state(of: "!r:s").count == 3)
        #expect(!(try events + script.store.state(of: "!r:s")).contains { isSmall($0) })
        #expect(script.room?.state?.stateEvents.contains { isSmall($0) } == false)
    }

    @Test func whatATrimLeavesDoesNotKeepItsAnswer() throws {
        var timeline = MemoryTimeline()
        for number in 0..<10 {
            let text = "[\(Sync.message("$\(number)")),\"\(String(repeating: "x", count: 50_000))\"]"
            let json = try #require(JSONView(Array(text.utf8))?[0])
            timeline.append([try #require(MXEvent(json: json, roomId: "!r:s"))], token: "t\(number)")
        }
        #expect(timeline.events(before: nil, limit: 9).allSatisfy { !isSmall($0) })
        #expect(timeline.trim(to: 3) == "t7")
        #expect(timeline.events(before: nil, limit: 9).map { isSmall($0) } == [true, true, true])
    }

    /// A file store holds the timelines: only the state is in memory.
    @Test func beforeAFileNothingKeepsAFirstAnswer() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "first-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var model = SessionModel(userId: "@a:s")
        let store = MXFileStore(folder: folder)
        _ = try store.open(userId: "@a:s", deviceId: nil)
        let text = #"{"next_batch":"s","rooms":{\#(Self.room)}}"#
        _ = try model.apply(SyncResponse(Array(text.utf8)), store: store, now: .now)
        let state = try #require(model.rooms["!r:s"]?.state)
        #expect(state.count == 3 && state.stateEvents.allSatisfy { isSmall($0) })
    }

    @Test(arguments: [true, false])
    func anInvitationDoesNotKeepItsAnswer(isFirst: Bool) throws {
        let member = #"{"type":"m.room.member","sender":"@b:s","state_key":"@a:s","content":{"membership":"invite"}}"#
        let invite = #""invite":{"!r:s":{"invite_state":{"events":[\#(member)]}}}"#
        let script = try applied(Self.answer(invite), isFirst: isFirst)
        #expect(script.room?.summary.membership == .invite)
        #expect(script.room?.state?.stateEvents.map { isSmall($0) } == [true])
    }

    @Test func accountDataAndMessagesToTheDeviceDoNotKeepTheirAnswer() throws {
        let more = #"""
            "account_data":{"events":[{"type":"m.direct","content":{}}]},
            "to_device":{"events":[{"type":"m.dummy","sender":"@b:s","content":{}}]}
            """#
        var script = try ModelScript()
        let response = try SyncResponse(Array(Self.answer("", more).utf8))
        let applied = try script.model.apply(response, store: script.store, now: .now)
        #expect(isSmall(script.model.accountData["m.direct"]))
        #expect(applied.changes.toDevice.map { isSmall($0.event) } == [true])
    }

    @Test func whatComesFromPagesAndListsOfMembersDoesNotKeepThem() throws {
        let text = #"{"a":"\#(String(repeating: "x", count: 50_000))","b":\#(Sync.member("@c:s", name: "Carol"))}"#
        let member = try #require(JSONView(Array(text.utf8))?["b"].flatMap { MXEvent(json: $0, roomId: "!r:s") })
        var script = try applied(#"{"next_batch":"s","rooms":{\#(Self.room)}}"#, isFirst: true)
        _ = script.model.paginated("!r:s", older: [], token: nil, members: [member], hasLastMessage: true)
        #expect(isSmall(script.room?.earlierMembers["@c:s"]))
        var back = try #require(script.room?.state)
        back.addMissing([member])
        #expect(isSmall(back.event(type: "m.room.member", key: "@c:s")))
        #expect(script.loaded([member], before: MXRoomMembers()) != nil)
        #expect(isSmall(script.room?.state?.event(type: "m.room.member", key: "@c:s")))
    }
}
