import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import Testing

/// Identifiers that only look alike are different: `é` as one scalar and as two.
@Suite struct LookAlikeTests {
    private static let (composed, decomposed) = ("\u{E9}", "e\u{301}")

    private static func message(_ id: String, _ sender: String, _ content: String) -> String {
        #"{"type":"m.room.message","event_id":"\#(id)","sender":"\#(sender)","content":{\#(content)}}"#
    }

    private static func joined(_ rooms: (id: String, events: [String])...) -> String {
        let parts = rooms.map { #""\#($0.id)":{"timeline":{"events":[\#($0.events.joined(separator: ","))]}}"# }
        return #""rooms":{"join":{\#(parts.joined(separator: ","))}}"#
    }

    private static let text = #""msgtype":"m.text","body":"b""#

    @Test func twoRooms() throws {
        var script = try ModelScript()
        let ids = ["!\(Self.composed):s", "!\(Self.decomposed):s"]
        try script.apply(
            Self.joined(
                (ids[0], [Self.message("$1", "@b:s", Self.text)]), (ids[1], [Self.message("$2", "@b:s", Self.text)])))
        #expect(script.model.rooms.count == 2)
        for (id, event) in zip(ids, ["$1", "$2"]) {
            #expect(try script.store.events(in: id, before: nil, limit: 9).map(\.eventId) == [event])
        }
    }

    @Test func twoEventsOfATimeline() throws {
        var script = try ModelScript()
        let ids = ["$\(Self.composed)", "$\(Self.decomposed)"]
        try script.apply(Self.joined(("!r:s", [Self.message(ids[0], "@b:s", Self.text)])))
        try script.apply(Self.joined(("!r:s", [Self.message(ids[1], "@b:s", Self.text)])))
        let stored = try script.store.events(in: "!r:s", before: nil, limit: 9)
        #expect(stored.map { Array($0.eventId.utf8) } == ids.reversed().map { Array($0.utf8) })
    }

    @Test func theEditOfAnotherUserDoesNotCount() throws {
        var script = try ModelScript()
        let edit =
            Self.text + #","m.new_content":{"msgtype":"m.text","body":"forged"},"#
            + #""m.relates_to":{"rel_type":"m.replace","event_id":"$1"}"#
        try script.apply(
            Self.joined(
                (
                    "!r:s",
                    [
                        Self.message("$1", "@\(Self.composed):s", Self.text),
                        Self.message("$2", "@\(Self.decomposed):s", edit),
                    ]
                )))
        let original = try #require(try script.store.event("$1", in: "!r:s"))
        #expect(script.room?.relations.edited(original).contentJSON["body"]?.string == "b")
    }

    @Test func theJoiningOfAnotherUserIsNotOurs() throws {
        var script = try ModelScript(userId: "@\(Self.composed):s")
        let joining =
            #"{"type":"m.room.member","event_id":"$3","sender":"@x:s","state_key":"@\#(Self.decomposed):s","#
            + #""content":{"membership":"join"}}"#
        try script.apply(Self.joined(("!r:s", [Self.message("$1", "@b:s", Self.text), joining])))
        #expect(script.room?.summary.localUnreadEventCount == 1)
    }

    @Test func twoReactionsToOneEvent() throws {
        var script = try ModelScript()
        let reactions = [Self.composed, Self.decomposed].enumerated().map { index, key in
            #"{"type":"m.reaction","event_id":"$r\#(index)","sender":"@b:s","content":"#
                + #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"\#(key)"}}}"#
        }
        try script.apply(Self.joined(("!r:s", [Self.message("$1", "@b:s", Self.text)] + reactions)))
        let found = script.room?.relations.aggregations(forEvent: "$1", original: nil, currentUser: "@a:s")?.reactions
        #expect(found?.count == 2)
        #expect(found?[Self.decomposed].map { Array($0.reaction.utf8) } == Array(Self.decomposed.utf8))
    }
}
