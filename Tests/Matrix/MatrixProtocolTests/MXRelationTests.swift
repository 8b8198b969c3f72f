import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct MXRelationTests {
    /// Such an event would be in its own thread, and shown nowhere.
    @Test(arguments: ["m.thread", "m.replace", "m.annotation"]) func noEventIsAboutItself(type: String) throws {
        let json = #"""
            {"type":"m.room.message","event_id":"$1","sender":"@a:s","content":{"msgtype":"m.text","body":"x",
            "m.relates_to":{"rel_type":"\#(type)","event_id":"$1"}}}
            """#
        let event = try MXEvent.parse(json)
        #expect(event.relatesTo == nil && event.threadId == nil)
    }

    @Test func eachKindOfRelationIsTold() throws {
        let plain = try MXEvent.make()
        #expect(plain.relatesTo == nil && !plain.isEdit && !plain.isReply && plain.threadId == nil)
        let edit = try MXEvent.make("m.room.message", MessageContent.edit(of: "$1", to: MessageContent.text("b")))
        #expect(edit.isEdit && edit.editedEventId == "$1" && !edit.isReply)
        let reply = try MXEvent.make(
            "m.room.message", MessageContent.reply(to: plain, with: MessageContent.text("b"), currentUser: "@me:x"))
        #expect(reply.replyToEventId == "$e" && reply.isReply && !reply.isEdit)
        let inThread = try MXEvent.make(
            "m.room.message", MessageContent.inThread("$root", lastEventId: "$last", MessageContent.text("b")))
        #expect(inThread.threadId == "$root" && !inThread.isReply && inThread.relatesTo?.inReplyTo == "$last")
        let replyInThread = try MXEvent.make(
            "m.room.message", MessageContent.reply(to: inThread, with: MessageContent.text("b"), currentUser: "@me:x"))
        #expect(replyInThread.threadId == "$root" && replyInThread.replyToEventId == "$e")
    }

    @Test(arguments: [#""m.thread""#, "[]", "7", "null", "true"])
    func whatIsNoObjectIsNoRelation(value: String) throws {
        #expect(MXRelation(try JSONView(text: value)) == nil)
        #expect(MXRelation(try JSONView(text: "{}")) != nil)
    }

    @Test func theRelationOfAnEncryptedEventIsInTheOpen() throws {
        let content: [String: Any] = [
            "ciphertext": "x", "m.relates_to": ["rel_type": "m.thread", "event_id": "$root", "is_falling_back": true],
        ]
        let event = try MXEvent.make("m.room.encrypted", content)
        #expect(event.threadId == "$root")
        let inside = try JSONView(text: #"{"type":"m.room.message","content":{"body":"b"}}"#)
        #expect(event.withDecrypted(inside).threadId == "$root")
    }

    @Test(
        arguments: [
            ("> <@a:x> old\n> more\n\nnew", "new"), ("> <@a:x> old\n\nnew\n> mine", "new\n> mine"),
            ("no fallback", "no fallback"), ("> only", ""), (">\n> a\nb", ">\n> a\nb"), ("> a\n>\n\nb", "b"), ("", ""),
        ])
    func theQuotationBeforeAReplyIsTakenAway(body: String, stripped: String) throws {
        let content: [String: Any] = ["body": body, "m.relates_to": ["m.in_reply_to": ["event_id": "$1"]]]
        #expect(try MXEvent.make("m.room.message", content).body == stripped)
        #expect(try MXEvent.make("m.room.message", ["body": body]).body == body)
    }

    @Test func theQuotationInHTMLIsTakenAway() throws {
        func html(_ text: String, format: String = "org.matrix.custom.html") throws -> String? {
            try MXEvent.make("m.room.message", ["format": format, "formatted_body": text]).formattedBody
        }
        #expect(try html("<mx-reply><blockquote>old</blockquote></mx-reply><b>new</b>") == "<b>new</b>")
        #expect(try html("<mx-reply>never closed") == "<mx-reply>never closed")
        #expect(try html("<b>é</b>") == "<b>é</b>")
        #expect(try html("x", format: "other") == nil)
    }
}
