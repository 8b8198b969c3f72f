import JSONBytes
import TestSupport
import Testing

@testable import MatrixProtocol

@Suite struct RelationIndexTests {
    private let original: MXEvent
    private var index = RelationIndex()

    init() throws {
        original = try .make("m.room.message", ["msgtype": "m.text", "body": "old"], id: "$o")
    }

    private func reaction(_ key: String, _ sender: String, id: String, ts: UInt64 = 5) throws -> MXEvent {
        try .make("m.reaction", MessageContent.reaction(key, to: "$o"), id: id, sender: sender, ts: ts)
    }

    private func edit(
        _ body: String, id: String, sender: String = "@a:x", ts: UInt64 = 5, of target: String = "$o",
        type: String = "m.room.message"
    ) throws -> MXEvent {
        try .make(type, MessageContent.edit(of: target, to: MessageContent.text(body)), id: id, sender: sender, ts: ts)
    }

    private func redaction(of id: String) throws -> MXEvent {
        try .make("m.room.redaction", ["redacts": id], id: "$redaction-of-\(id)")
    }

    private func reactions(_ index: RelationIndex) -> MXDictionary<MXReactionSummary> {
        index.aggregations(forEvent: "$o", original: original, currentUser: "@me:x")?.reactions ?? [:]
    }

    private func body(_ index: RelationIndex) -> String? { index.edited(original).contentJSON["body"]?.string }

    /// A server can claim anything in an unencrypted event.
    @Test mutating func whatWasEncryptedIsEditedOnlyByWhatWas() throws {
        let read = original.withDecrypted(original.json)
        let forged = try edit("forged", id: "$1", ts: 9)
        index.add(forged)
        #expect(index.edited(read).contentJSON["body"]?.string == "old")
        #expect(index.edited(original).contentJSON["body"]?.string == "forged")
        let own = try edit("own", id: "$2", ts: 8)
        index.add(own.withDecrypted(own.json))
        #expect(index.edited(read).contentJSON["body"]?.string == "own")
    }

    // MARK: Reactions

    @Test mutating func aUserCountsOnceForAKey() throws {
        #expect(try index.add(reaction("👍", "@a:x", id: "$1", ts: 9)) == "$o")
        #expect(try index.add(reaction("👍", "@a:x", id: "$1", ts: 9)) == nil)
        try index.add(reaction("👍", "@a:x", id: "$2"))
        try index.add(reaction("👍", "@me:x", id: "$3", ts: 7))
        try index.add(reaction("👍\u{FE0F}", "@b:x", id: "$4"))
        let all = reactions(index)
        #expect(all.count == 2)
        #expect(
            all["👍"]
                == MXReactionSummary(
                    reaction: "👍", count: 2, originServerTs: 5, containsCurrentUser: true, myUserReactionEventId: "$3",
                    senders: ["@a:x", "@me:x"]))
        #expect(all["👍\u{FE0F}"]?.containsCurrentUser == false)
    }

    @Test mutating func redactingAReactionTakesItBack() throws {
        try index.add(reaction("a", "@a:x", id: "$1"))
        try index.add(reaction("a", "@a:x", id: "$2"))
        #expect(try index.add(redaction(of: "$1")) == "$o")
        #expect(reactions(index)["a"]?.count == 1)
        #expect(try index.add(redaction(of: "$2")) == "$o")
        #expect(reactions(index).isEmpty)
        #expect(index.aggregations(forEvent: "$o", original: original, currentUser: "@me:x") == nil)
        #expect(index.count == 0)
    }

    @Test mutating func aRedactionMayComeBeforeItsReaction() throws {
        try index.add(redaction(of: "$1"))
        #expect(try index.add(reaction("a", "@a:x", id: "$1")) == nil)
        #expect(reactions(index).isEmpty)
    }

    @Test mutating func aReactionThatComesAgainRedactedIsTakenBack() throws {
        let event = try reaction("a", "@a:x", id: "$1")
        index.add(event)
        index.add(event.pruned(by: try redaction(of: "$1"), roomVersion: "11"))
        #expect(reactions(index).isEmpty)
    }

    @Test mutating func aLocalEchoCountsUntilItIsReplacedOrTakenBack() throws {
        let local = MXEvent.localEventIdPrefix + "1"
        try index.add(reaction("a", "@me:x", id: local))
        #expect(reactions(index)["a"]?.count == 1)
        #expect(reactions(index)["a"]?.myUserReactionEventId == local)
        try index.add(reaction("a", "@me:x", id: "$1", ts: 9))
        #expect(reactions(index)["a"]?.count == 1)
        #expect(reactions(index)["a"]?.myUserReactionEventId == "$1")
        #expect(index.remove(local) == "$o")
        #expect(reactions(index)["a"]?.count == 1)
        #expect(index.remove("$1") == "$o")
        #expect(reactions(index).isEmpty)
    }

    @Test mutating func whatOnlyLooksLikeAReactionDoesNotCount() throws {
        let content = MessageContent.reaction("a", to: "$o")
        for event in [
            try MXEvent.make("m.room.message", content, id: "$1"),
            try MXEvent.make("m.reaction", content, id: "$2", key: ""),
            try MXEvent.make("m.reaction", ["m.relates_to": ["rel_type": "m.annotation", "event_id": "$o"]], id: "$3"),
            try MXEvent.make("m.reaction", ["m.relates_to": "$o"], id: "$4"),
        ] {
            #expect(index.add(event) == nil)
        }
    }

    // MARK: Edits

    @Test mutating func theNewestEditCounts() throws {
        try index.add(edit("newest", id: "$b", ts: 9))
        try index.add(edit("by id", id: "$a", ts: 9))
        try index.add(edit("older", id: "$c", ts: 8))
        #expect(body(index) == "newest")
        #expect(index.edited(original).isEdited)
        let aggregations = index.aggregations(forEvent: "$o", original: original, currentUser: "@me:x")
        #expect(aggregations?.editCount == 3)
        #expect(aggregations?.editedTs == 9)
        #expect(aggregations?.reactions == nil)
        #expect(index.newestEdit(of: original)?.eventId == "$b")
    }

    @Test mutating func redactingAnEditBringsBackTheOneBefore() throws {
        try index.add(edit("1", id: "$1", ts: 1))
        try index.add(edit("2", id: "$2", ts: 2))
        try index.add(redaction(of: "$2"))
        #expect(body(index) == "1")
        try index.add(redaction(of: "$1"))
        #expect(body(index) == "old")
        #expect(!index.edited(original).isEdited)
    }

    @Test mutating func editsThatAreNotValidDoNotCount() throws {
        try index.add(edit("by another", id: "$1", sender: "@b:x"))
        try index.add(edit("of another type", id: "$2", type: "m.sticker"))
        let noContent: [String: Any] = ["body": "x", "m.relates_to": ["rel_type": "m.replace", "event_id": "$o"]]
        try index.add(.make("m.room.message", noContent, id: "$3"))
        let state = MessageContent.edit(of: "$o", to: MessageContent.text("state"))
        try index.add(.make("m.room.message", state, id: "$4", key: ""))
        try index.add(.make("m.room.message", state, id: "$5", room: "!other:x"))
        #expect(body(index) == "old")
        #expect(index.aggregations(forEvent: "$o", original: original, currentUser: "@me:x") == nil)
    }

    @Test mutating func stateIsNotEdited() throws {
        let topic = try MXEvent.make("m.room.topic", ["body": "old"], id: "$o", sender: original.sender, key: "")
        let new = MessageContent.edit(of: "$o", to: ["body": "new"])
        try index.add(.make("m.room.topic", new, id: "$1", sender: original.sender))
        #expect(index.edited(topic).contentJSON["body"]?.string == "old")
        #expect(index.newestEdit(of: topic) == nil)
    }

    @Test mutating func anEditIsNotEditedAgain() throws {
        let first = try edit("1", id: "$1")
        index.add(first)
        try index.add(edit("2", id: "$2", of: "$1"))
        #expect(!index.edited(first).isEdited)
    }

    @Test mutating func redactingTheOriginalHidesAll() throws {
        try index.add(edit("1", id: "$1"))
        try index.add(reaction("a", "@a:x", id: "$2"))
        #expect(try index.add(redaction(of: "$o")) == "$o")
        #expect(index.count == 0)
        let pruned = original.pruned(by: try redaction(of: "$o"), roomVersion: "11")
        #expect(try index.add(edit("late", id: "$3")) == nil)
        #expect(!index.edited(pruned).isEdited)
    }

    @Test mutating func anEditedReplyStaysAReply() throws {
        let asked = try MXEvent.make(id: "$asked", sender: "@q:x")
        let content = MessageContent.reply(to: asked, with: MessageContent.text("answer"), currentUser: "@a:x")
        let reply = try MXEvent.make("m.room.message", content, id: "$o")
        var new = MessageContent.text("better")
        new["m.relates_to"] = ["m.in_reply_to": ["event_id": "$elsewhere"]]
        var edit = MessageContent.edit(of: "$o", to: new)
        edit["m.new_content"] = new
        try index.add(.make("m.room.message", edit, id: "$1"))
        let edited = index.edited(reply)
        #expect(edited.body == "better")
        #expect(edited.replyToEventId == "$asked")
        #expect(edited.contentJSON["m.relates_to"]?["m.in_reply_to"]?["event_id"]?.string == "$asked")
        #expect(edited.eventId == "$o")
        #expect(edited != reply)
    }

    @Test mutating func theEditThatTheServerSendsAlongCounts() throws {
        let bundle = """
            {"type":"m.room.message","event_id":"$o","sender":"@a:x","content":{"body":"old"},"unsigned":{"m.relations":\
            {"m.replace":{"type":"m.room.message","event_id":"$1","sender":"@a:x","origin_server_ts":3,"content":\
            {"m.new_content":{"body":"new"},"m.relates_to":{"rel_type":"m.replace","event_id":"$o"}}}}}}
            """
        let event = try MXEvent.parse(bundle)
        #expect(index.add(event) == "$o")
        #expect(index.add(event) == nil)
        #expect(index.edited(event).body == "new")
    }

    // MARK: Bounds

    @Test mutating func theOldestTargetsGoWhenThereIsTooMuch() throws {
        index = RelationIndex(limit: 10)
        for number in 0..<100 {
            let content = MessageContent.reaction("a", to: "$target\(number)")
            try index.add(.make("m.reaction", content, id: "$\(number)"))
            try index.add(redaction(of: "$gone\(number)"))
        }
        #expect(index.count == 10)
        #expect(index.aggregations(forEvent: "$target99", original: nil, currentUser: "@me:x") != nil)
        #expect(index.aggregations(forEvent: "$target89", original: nil, currentUser: "@me:x") == nil)
    }

    @Test mutating func reactionsThatComeAndGoLeaveNothingBehind() throws {
        index = RelationIndex(limit: 10)
        try index.add(edit("kept", id: "$kept"))
        for number in 0..<200 {
            try index.add(reaction("a", "@b:x", id: "$\(number)"))
            index.remove("$\(number)")
        }
        #expect(index.count == 1)
        #expect(body(index) == "kept")
    }

    /// Their target events do not delay eviction either: it does not search them.
    @Test mutating func eventsThatNothingIsSaidAboutAnyMoreAreForgotten() throws {
        index = RelationIndex(limit: 10)
        for number in 0..<200 {
            try index.add(.make("m.reaction", MessageContent.reaction("a", to: "$\(number)"), id: "$r\(number)"))
            index.remove("$r\(number)")
        }
        for number in 0...10 {
            try index.add(.make("m.reaction", MessageContent.reaction("a", to: "$t\(number)"), id: "$s\(number)"))
        }
        #expect(index.count == 10)
        #expect((1...21).contains(index.evictions))
    }

    @Test mutating func anotherUsersEditsDoNotPushOutTheSenders() throws {
        try index.add(edit("mine", id: "$mine", ts: 1))
        for number in 0..<200 { try index.add(edit("x", id: "$\(number)", sender: "@b:x", ts: 100 + UInt64(number))) }
        #expect(body(index) == "mine")
        #expect(index.count == 65)
    }

    @Test func theResultDoesNotDependOnTheOrder() throws {
        var events: [MXEvent] = [try redaction(of: "$r2"), try redaction(of: "$e3")]
        for number in 0..<4 { events.append(try reaction("k\(number % 2)", "@\(number):x", id: "$r\(number)")) }
        for number in 0..<4 { events.append(try edit("\(number)", id: "$e\(number)", ts: UInt64(number))) }
        var generator = XorShift(seed: 3)
        for _ in 0..<200 {
            var index = RelationIndex()
            for event in (events + events.shuffled(using: &generator)).shuffled(using: &generator) { index.add(event) }
            #expect(body(index) == "2")
            #expect(reactions(index).mapValues(\.count) == ["k0": 1, "k1": 2])
            #expect(index.count == 6)
        }
    }
}
