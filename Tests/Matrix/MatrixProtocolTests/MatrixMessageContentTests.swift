import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct MatrixMessageContentTests {
    private func content(_ json: String, type: String = "m.room.message") throws -> MatrixMessageContent {
        MatrixMessageContent(
            try .parse(#"{"type":"\#(type)","event_id":"$e","sender":"@a:x","content":\#(json)}"#))
    }

    @Test func aVoiceMessageIsOne_byAnyOfItsMarks() throws {
        for mark in ["org.matrix.msc3245.voice", "org.matrix.msc3245.voice.v2", "m.voice"] {
            let voice = try content(
                #"""
                {"msgtype":"m.audio","body":"v.ogg","url":"mxc://hs/v","info":{"duration":1},"\#(mark)":{},
                "org.matrix.msc1767.audio":{"duration":3456,"waveform":[0,-5,2000,"x",7]}}
                """#)
            guard case .voice(let file) = voice else {
                Issue.record("\(mark): \(voice)")
                continue
            }
            #expect(file.duration == .milliseconds(3456) && file.waveform == [0, 0, 1024, 0, 7])
        }
        let sound = try content(#"{"msgtype":"m.audio","body":"s.ogg","url":"mxc://hs/s"}"#)
        #expect(sound == .audio(MatrixAttachment(url: "mxc://hs/s", fileName: "s.ogg")))
    }

    @Test func aLongWaveformIsMadeShorter_andALongDurationCannotOverflow() throws {
        let steps = (0..<100_000).map { $0 == 99_999 ? "1000" : "1" }.joined(separator: ",")
        let voice = try content(
            #"""
            {"msgtype":"m.audio","body":"v","info":{"duration":9223372036854775807},"m.voice":{},
            "org.matrix.msc1767.audio":{"waveform":[\#(steps)]}}
            """#)
        let file = try #require(voice.attachment)
        #expect(file.waveform.count == 120 && file.waveform.last == 1000 && file.waveform.first == 1)
        #expect(file.duration == .milliseconds(Int(Int32.max)))
    }

    @Test(
        arguments: [
            ("geo:51.5,-0.12", true), ("geo:51.5,-0.12,30;u=35", true), ("GEO:+1,2", true), ("geo:90,180", true),
            ("geo:91,0", false), ("geo:0,-180.5", false), ("geo:1", false), ("geo:,", false), ("geo:nan,0", false),
            ("geo:0x1,2", false), ("geo:1,2,3,4", false), ("http://x", false), ("", false), ("geo:1e9,2", false),
            ("geo:" + String(repeating: "1", count: 1000) + ",1", false),
        ])
    func aLocationNamesAPlaceOnEarth(uri: String, isOne: Bool) throws {
        let expected =
            isOne ? MatrixMessageContent.location("b", uri: uri) : .unsupported(type: "m.location", body: "b")
        #expect(try content(#"{"msgtype":"m.location","body":"b","geo_uri":"\#(uri)"}"#) == expected)
        #expect(
            try content(#"{"msgtype":"m.location","body":"b","org.matrix.msc3488.location":{"uri":"\#(uri)"}}"#)
                == expected)
    }

    @Test func aPlacesDescriptionIsItsText() throws {
        #expect(
            try content(
                #"""
                {"msgtype":"m.location","body":"geo:1,2 at noon","geo_uri":"geo:1,2",
                "m.location":{"uri":"geo:1,2","description":"Home"}}
                """#) == .location("Home", uri: "geo:1,2"))
    }

    @Test func aSpoilerIsHiddenInTexts_captionsAndEdits_butTheHTMLStays() throws {
        let html = #"<span data-mx-spoiler=\"why\">Tom</span>"#
        let form = #""format":"org.matrix.custom.html","formatted_body":"\#(html)""#
        for (type, isMade) in [
            ("m.text", { $0 == .text("[spoiler: why]", html: $1) }),
            ("m.notice", { $0 == .notice("[spoiler: why]", html: $1) }),
            ("m.emote", { $0 == .emote("[spoiler: why]", html: $1) }),
        ] as [(String, (MatrixMessageContent, String) -> Bool)] {
            let text = try content(#"{"msgtype":"\#(type)","body":"Tom",\#(form)}"#)
            #expect(isMade(text, #"<span data-mx-spoiler="why">Tom</span>"#), "\(text)")
            #expect(text.body == "[spoiler: why]")
        }
        let image = try content(#"{"msgtype":"m.image","body":"Tom","filename":"a.png",\#(form)}"#)
        #expect(image == .image(MatrixAttachment(fileName: "a.png", caption: "[spoiler: why]")))
        let edit = try MXEvent.parse(
            #"""
            {"type":"m.room.message","event_id":"$2","sender":"@a:x","content":{"msgtype":"m.text","body":"* Tom",
            "m.new_content":{"msgtype":"m.text","body":"Tom",\#(form)},
            "m.relates_to":{"rel_type":"m.replace","event_id":"$e"}}}
            """#)
        let version = try #require(edit.newVersion)
        #expect(MatrixMessageContent(version).body == "[spoiler: why]")
    }

    @Test func whatTheServerBundlesIsTheNewestEdit() throws {
        func event(_ bundled: String) throws -> MXEvent {
            try .parse(
                #"""
                {"type":"m.room.message","event_id":"$e","sender":"@a:x","content":{"msgtype":"m.text","body":"old",
                "m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}},"unsigned":{"m.relations":{"m.replace":\#(bundled)}}}
                """#)
        }
        let edited = try event(#"{"content":{"m.new_content":{"msgtype":"m.text","body":"new"}}}"#).withBundledEdit
        #expect(MatrixMessageContent(edited) == .text("new") && edited.isEdited && edited.replyToEventId == "$0")
        for bundled in ["{}", "7", #"{"content":{"m.new_content":7}}"#] {
            #expect(try !event(bundled).withBundledEdit.isEdited)
        }
    }

    @Test(
        arguments: [
            (#"{}"#, .unsupported(type: "m.room.message", body: nil)),
            (#"{"msgtype":7,"body":"b"}"#, .unsupported(type: "m.room.message", body: "b")),
            (#"{"msgtype":"m.text"}"#, .unsupported(type: "m.text", body: nil)),
            (#"{"msgtype":"m.text","body":["b"]}"#, .unsupported(type: "m.text", body: nil)),
            (
                #"{"msgtype":"m.image","body":"b","url":"http://x/y","info":[]}"#,
                .image(MatrixAttachment(fileName: "b"))
            ),
            (#"{"msgtype":"m.image","url":"mxc://hs/1"}"#, .image(MatrixAttachment(url: "mxc://hs/1", fileName: ""))),
            (#"{"msgtype":"m.location","body":"b"}"#, .unsupported(type: "m.location", body: "b")),
            (#"{"msgtype":"org.example","body":"b"}"#, .unsupported(type: "org.example", body: "b")),
        ] as [(String, MatrixMessageContent)])
    func whatIsMalformedFallsBackToItsText(json: String, expected: MatrixMessageContent) throws {
        #expect(try content(json) == expected)
    }

    @Test func stickersAndPollsAreMessages_votesAreNot() throws {
        #expect(
            try content(#"{"body":"Wave","url":"mxc://hs/s","info":{"w":9}}"#, type: "m.sticker")
                == .sticker(MatrixAttachment(url: "mxc://hs/s", fileName: "Wave", width: 9)))
        for (type, isMessage) in [
            ("m.sticker", true), ("m.poll.start", true), ("org.matrix.msc3381.poll.start", true),
            ("m.room.message", true), ("m.room.encrypted", true), ("m.poll.response", false), ("m.poll.end", false),
            ("m.reaction", false), ("m.room.name", false),
        ] {
            #expect(try MXEvent.make(type).isMessage == isMessage, "\(type)")
            #expect(try !MXEvent.make(type, key: "").isMessage)
        }
        let vote = try MXEvent.make(
            "org.matrix.msc3381.poll.response", ["m.relates_to": ["rel_type": "m.reference", "event_id": "$p"]])
        #expect(vote.pollStartId == "$p")
        #expect(try MXEvent.make("m.poll.response", ["m.relates_to": ["event_id": "$p"]]).pollStartId == nil)
    }
}
