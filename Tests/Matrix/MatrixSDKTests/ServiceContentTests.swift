import Foundation
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// Polls, voice messages, stickers and spoilers in the service.
@MainActor
@Suite(.overSockets)
struct ServiceContentTests {
    private static func event(_ id: String, _ type: String, _ content: String, sender: String = "@b:s", ts: Int = 1)
        -> String
    {
        #"{"type":"\#(type)","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":\#(ts),"content":\#(content)}"#
    }

    private static let poll = event(
        "$p", "org.matrix.msc3381.poll.start",
        #"""
        {"org.matrix.msc3381.poll.start":{"kind":"org.matrix.msc3381.poll.disclosed","max_selections":1,
        "question":{"org.matrix.msc1767.text":"Lunch?"},
        "answers":[{"id":"1","org.matrix.msc1767.text":"Pizza"},{"id":"2","org.matrix.msc1767.text":"Sushi"}]}}
        """#)

    private static func vote(_ id: String, _ answer: String, sender: String, ts: Int = 2) -> String {
        event(
            id, "m.poll.response",
            #"{"m.relates_to":{"rel_type":"m.reference","event_id":"$p"},"m.selections":["\#(answer)"]}"#,
            sender: sender, ts: ts)
    }

    private static func end(sender: String) -> String {
        event(
            "$end-\(sender)", "m.poll.end", #"{"m.relates_to":{"rel_type":"m.reference","event_id":"$p"}}"#,
            sender: sender, ts: 9)
    }

    private static func holds(_ condition: @escaping @MainActor () -> Bool) async -> Bool {
        await eventually { await condition() }
    }

    private static func words(_ message: MatrixMessage?) -> String? {
        guard case .poll(let poll)? = message?.content else { return nil }
        let answers = poll.answers.map { "\($0.text) \($0.votes.map(String.init) ?? "?")\($0.isOwn ? "*" : "")" }
        return "\(answers.joined(separator: ", "))\(poll.isEnded ? ", ended" : "")"
    }

    @Test func aPollIsToldAgainWithEachVote_itsRedaction_andItsEnd() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        var told: [String?] = []
        service.onMessageReceived = { told.append(Self.words($0)) }
        await scene.next(service, Sync.answer("s2", Sync.room(timeline: [Self.poll])))
        #expect(await Self.holds { told == ["Pizza 0, Sushi 0"] })
        await scene.next(
            service,
            Sync.answer(
                "s3",
                Sync.room(timeline: [
                    Self.vote("$1", "1", sender: "@a:s"), Self.vote("$2", "2", sender: "@b:s"),
                    Self.vote("$3", "2", sender: "@a:s", ts: 3),
                ])))
        // One update for all of them.
        #expect(await Self.holds { told.dropFirst() == ["Pizza 0, Sushi 2*"] })
        let redaction = #"""
            {"type":"m.room.redaction","event_id":"$4","sender":"@a:s","origin_server_ts":4,"redacts":"$3",
            "content":{"redacts":"$3"}}
            """#
        await scene.next(service, Sync.answer("s4", Sync.room(timeline: [redaction])))
        #expect(await Self.holds { told.last == "Pizza 1*, Sushi 1" })
        await scene.next(service, Sync.answer("s5", Sync.room(timeline: [Self.end(sender: "@mallory:s")])))
        #expect(await Self.holds { told.count == 4 && told.last == "Pizza 1*, Sushi 1" })
        await scene.next(
            service,
            Sync.answer(
                "s6",
                Sync.room(timeline: [Self.end(sender: "@b:s"), Self.vote("$5", "1", sender: "@c:s", ts: 10)])))
        #expect(await Self.holds { told.last == "Pizza 1*, Sushi 1, ended" })
        #expect(
            try await service.getRoomMessages(roomId: "!r:s", limit: 9).map(Self.words)
                == ["Pizza 1*, Sushi 1, ended"])
        let room = try #require(try await service.getJoinedRooms().first)
        #expect(room.lastMessage?.body == "Lunch?")
    }

    @Test func votesOnAPollThatIsNotStoredAreAskedFor_inPages() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        scene.server.on(
            "GET", "v3/rooms/*/context/*",
            .json(#"{"event":\#(Sync.message("$new")),"events_before":[\#(Self.poll)],"events_after":[]}"#))
        scene.server.on(
            "GET", "v1/rooms/*/relations/*/m.reference",
            [
                .json(#"{"chunk":[\#(Self.vote("$1", "1", sender: "@a:s"))],"next_batch":"n"}"#),
                .json(#"{"chunk":[\#(Self.vote("$2", "1", sender: "@b:s"))]}"#), .error(403, "M_FORBIDDEN"),
            ])
        for expected in ["Pizza 2*, Sushi 0", "Pizza ?, Sushi ?"] {
            let messages = try await service.getRoomMessages(roomId: "!r:s", limit: 1, from: "$new")
            #expect(messages.map(Self.words) == [expected])
        }
    }

    @Test func voiceMessagesStickersAndSpoilersAreShownAsWhatTheyAre() async throws {
        let scene = try await ServiceScene()
        let service = try await scene.running()
        var told: [MatrixMessage] = []
        service.onMessageReceived = { told.append($0) }
        let timeline = [
            Self.event(
                "$1", "m.room.message",
                #"""
                {"msgtype":"m.audio","body":"v.ogg","url":"mxc://hs/v","org.matrix.msc3245.voice":{},
                "org.matrix.msc1767.audio":{"duration":3000,"waveform":[1]}}
                """#),
            Self.event("$2", "m.sticker", #"{"body":"Wave","url":"mxc://hs/s"}"#),
            Self.event(
                "$3", "m.room.message",
                #"""
                {"msgtype":"m.text","body":"Tom","format":"org.matrix.custom.html",
                "formatted_body":"<span data-mx-spoiler>Tom</span>"}
                """#),
        ]
        await scene.next(service, Sync.answer("s2", Sync.room(timeline: timeline)))
        #expect(await Self.holds { told.count == 3 })
        #expect(
            told.map(\.content) == [
                .voice(
                    MatrixAttachment(url: "mxc://hs/v", fileName: "v.ogg", duration: .seconds(3), waveform: [1])),
                .sticker(MatrixAttachment(url: "mxc://hs/s", fileName: "Wave")),
                .text("[spoiler]", html: "<span data-mx-spoiler>Tom</span>"),
            ])
        let room = try #require(try await service.getJoinedRooms().first)
        #expect(room.lastMessage?.body == "[spoiler]")
    }
}
