import Foundation
import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct MessageContentTests {
    private func json(_ content: [String: Any]) throws -> String {
        #expect(JSONSerialization.isValidJSONObject(content))
        let data = try JSONSerialization.data(withJSONObject: content, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    @Test func aTextAlwaysSaysWhomItMentions() throws {
        #expect(try json(MessageContent.text("b")) == #"{"body":"b","m.mentions":{},"msgtype":"m.text"}"#)
        let mentions = MessageContent.Mentions(userIds: ["@a:x"], room: true)
        #expect(
            try json(MessageContent.text("b", html: "<b>b</b>", type: "m.notice", mentions: mentions))
                == #"{"body":"b","format":"org.matrix.custom.html","formatted_body":"<b>b</b>","m.mentions":{"room":true,"user_ids":["@a:x"]},"msgtype":"m.notice"}"#
        )
    }

    @Test func whatWasTypedIsMarkdownOrAnEmote() throws {
        #expect(MessageContent.typed("plain")["formatted_body"] == nil)
        #expect(MessageContent.typed("**b**")["formatted_body"] as? String == "<strong>b</strong>")
        let emote = MessageContent.typed("/me *waves*")
        #expect(emote["msgtype"] as? String == "m.emote")
        #expect(emote["body"] as? String == "*waves*")
        #expect(emote["formatted_body"] as? String == "<em>waves</em>")
        #expect(MessageContent.typed("/mean")["msgtype"] as? String == "m.text")
    }

    @Test func anEditCarriesOldAndNewForm() throws {
        let new = MessageContent.typed("*b*", mentions: MessageContent.Mentions(userIds: ["@a:x"]))
        let event = try MXEvent.make("m.room.message", MessageContent.edit(of: "$1", to: new))
        #expect(event.contentJSON["body"]?.string == "* *b*")
        #expect(event.contentJSON["formatted_body"]?.string == "* <em>b</em>")
        #expect(event.contentJSON["m.mentions"]?["user_ids"] == nil)
        #expect(event.contentJSON["m.new_content"]?["m.mentions"]?["user_ids"]?.array?.count == 1)
        #expect(event.contentJSON["m.new_content"]?["body"]?.string == "*b*")
        #expect(event.editedEventId == "$1")
    }

    @Test func aReplyMentionsTheOtherButNotOneself() throws {
        let event = try MXEvent.make(sender: "@a:x")
        let reply = MessageContent.reply(to: event, with: MessageContent.text("b"), currentUser: "@me:x")
        #expect(
            try json(reply)
                == #"{"body":"b","m.mentions":{"user_ids":["@a:x"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$e"}},"msgtype":"m.text"}"#
        )
        let own = MessageContent.reply(to: event, with: MessageContent.text("b"), currentUser: "@a:x")
        #expect(try json(own).contains(#""m.mentions":{}"#))
    }

    @Test func aReplyPutIntoAThreadStaysAReply() throws {
        let event = try MXEvent.make(sender: "@a:x")
        let reply = MessageContent.reply(to: event, with: MessageContent.text("b"), currentUser: "@me:x")
        let message = try MXEvent.make("m.room.message", MessageContent.inThread("$root", lastEventId: "$last", reply))
        #expect(message.threadId == "$root" && message.replyToEventId == "$e")
    }

    @Test func aFileHasNameCaptionAndInfo() throws {
        let info = MessageContent.MediaInfo(
            mimetype: "image/png", size: 7, width: 1, height: 2, duration: .milliseconds(1500),
            thumbnailURL: "mxc://x/t")
        let content = MessageContent.media(
            "m.video", url: "mxc://x/v", filename: "v.mp4", caption: "*look*", info: info,
            thumbnail: MessageContent.MediaInfo(size: 3))
        let event = try MXEvent.make("m.room.message", content)
        #expect(event.contentJSON["filename"]?.string == "v.mp4")
        #expect(event.body == "*look*" && event.formattedBody == "<em>look</em>")
        #expect(event.contentJSON["info"]?["duration"]?.int == 1500)
        #expect(event.contentJSON["info"]?["mimetype"]?.string == "image/png")
        #expect(event.contentJSON["info"]?["size"]?.int == 7)
        #expect(event.contentJSON["info"]?["w"]?.int == 1 && event.contentJSON["info"]?["h"]?.int == 2)
        #expect(event.contentJSON["info"]?["thumbnail_url"]?.string == "mxc://x/t")
        #expect(event.contentJSON["info"]?["thumbnail_info"]?["size"]?.int == 3)
        #expect(event.contentJSON["url"]?.string == "mxc://x/v")
        let plain = try MXEvent.make(
            "m.room.message",
            MessageContent.media("m.file", url: "mxc://x/v", filename: "*f*", info: MessageContent.MediaInfo()))
        #expect(plain.body == "*f*" && plain.formattedBody == nil)
    }

    @Test func voiceAndLocationHaveTheirFields() throws {
        let voice = try MXEvent.make("m.room.message", MessageContent.voice([:], duration: .seconds(2)))
        #expect(voice.contentJSON["org.matrix.msc1767.audio"]?["duration"]?.int == 2000)
        #expect(voice.contentJSON["org.matrix.msc3245.voice"]?.isObject == true)
        let place = try MXEvent.make(
            "m.room.message", MessageContent.location(latitude: 51.5, longitude: -0.1, body: "here"))
        #expect(place.contentJSON["geo_uri"]?.string == "geo:51.5,-0.1")
    }

    @Test(arguments: [
        (Duration.seconds(1e20), 2_147_483_647_000), (.seconds(Int64.max), 2_147_483_647_000), (.seconds(-1e20), 0),
        (.seconds(-1), 0),
    ])
    func aDurationOfAnyLengthIsWritten(given: Duration, milliseconds: Int) throws {
        let event = try MXEvent.make("m.room.message", MessageContent.voice([:], duration: given))
        #expect(event.contentJSON["org.matrix.msc1767.audio"]?["duration"]?.int == milliseconds)
    }

    // MARK: Mentions

    private static let ada = MXMention(userId: "@ada:s", name: "Ada")

    private func named(_ text: String, _ users: [MXMention]) -> (html: String?, ids: [String]?) {
        let content = MessageContent.typed(text, naming: users)
        #expect(content["body"] as? String == text)
        let mentions = content["m.mentions"] as? [String: Any]
        return (content["formatted_body"] as? String, mentions?["user_ids"] as? [String])
    }

    @Test func aNameIsAPill_andItsUserIsMentioned() {
        let (html, ids) = named("Ada: **look**", [Self.ada])
        #expect(html == #"<a href="https://matrix.to/#/@ada:s">Ada</a>: <strong>look</strong>"#)
        #expect(ids == ["@ada:s"])
        let plain = named("hi Ada\n<b>", [Self.ada])
        #expect(plain.html == #"hi <a href="https://matrix.to/#/@ada:s">Ada</a><br>&lt;b&gt;"#)
    }

    @Test func whoIsNotNamedAnyMoreIsNotMentioned() {
        for text in ["hi", "Adamant", "xAda", "ada"] {
            #expect(named(text, [Self.ada]) == (nil, nil), "\(text)")
        }
    }

    @Test func namesMayLookLikeMarkup_andTheLongerOneIsMeant() {
        let users = [
            MXMention(userId: "@a:s", name: "*A* <b>"), MXMention(userId: "@b:s", name: "Ada"),
            MXMention(userId: "@c/d:s", name: "Ada B"),
        ]
        let (html, ids) = named("*A* <b>, Ada B", users)
        #expect(
            html
                == ##"<a href="https://matrix.to/#/@a:s">*A* &lt;b&gt;</a>, <a href="https://matrix.to/#/@c%2Fd:s">Ada B</a>"##
        )
        #expect(ids == ["@a:s", "@c/d:s"])
        #expect(named("\u{F0000} Ada B", users).html == nil)
    }
}
