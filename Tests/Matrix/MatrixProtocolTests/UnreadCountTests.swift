import Testing

@testable import MatrixProtocol

@Suite struct UnreadCountTests {
    @Test(
        arguments: [
            ("m.room.message", true), ("m.room.encrypted", true), ("m.sticker", true), ("m.call.invite", true),
            ("m.poll.start", true), ("org.matrix.msc3381.poll.start", true), ("m.poll.response", false),
            ("org.matrix.msc3381.poll.end", false), ("m.reaction", false), ("m.room.redaction", false),
            ("m.call.hangup", false),
            ("m.typing", false), ("org.example", false),
        ])
    func whatIsSaidCounts(type: String, expected: Bool) throws {
        let event = try MXEvent.make(type)
        #expect(event.countsAsUnread(for: "@me:x") == expected)
        #expect(event.isLastMessage(for: "@me:x") == expected)
        #expect(!event.countsAsUnread(for: "@a:x"))
        #expect(event.isLastMessage(for: "@a:x") == expected)
        #expect(try !MXEvent.make(type, key: "").countsAsUnread(for: "@me:x"))
    }

    @Test func editsAndRedactedEventsNeverCount() throws {
        let edit = try MXEvent.make("m.room.message", MessageContent.edit(of: "$1", to: MessageContent.text("b")))
        let redacted = try MXEvent.make().pruned(by: try .make("m.room.redaction", id: "$r"), roomVersion: "11")
        for event in [edit, redacted] {
            #expect(!event.countsAsUnread(for: "@me:x"))
            #expect(!event.isLastMessage(for: "@me:x"))
        }
    }

    @Test func eventsOfThreadsAreUnreadButNoLastMessage() throws {
        let event = try MXEvent.make("m.room.message", MessageContent.inThread("$1", lastEventId: nil, [:]))
        #expect(event.countsAsUnread(for: "@me:x"))
        #expect(!event.isLastMessage(for: "@me:x"))
    }

    @Test func ofMemberEventsOnlyTheOwnJoiningAndInvitationMayBeLast() throws {
        #expect(try MXEvent.member("@me:x", "join", before: "invite").isLastMessage(for: "@me:x"))
        #expect(try MXEvent.member("@me:x", "invite", sender: "@a:x").isLastMessage(for: "@me:x"))
        #expect(try !MXEvent.member("@me:x", "join", before: "join").isLastMessage(for: "@me:x"))
        #expect(try !MXEvent.member("@me:x", "leave").isLastMessage(for: "@me:x"))
        #expect(try !MXEvent.member("@a:x", "join").isLastMessage(for: "@me:x"))
        #expect(try !MXEvent.make("m.room.name", key: "").isLastMessage(for: "@me:x"))
    }
}
