import Foundation
import MatrixTestSupport
import TestSupport
import Testing

/// How `matrix messages` and `matrix listen` show polls, voice messages, locations and the like.
@Suite(.overSockets)
struct MatrixMessageKindTests {
    static let lunch = #"""
        {"org.matrix.msc3381.poll.start":{"kind":"org.matrix.msc3381.poll.disclosed","max_selections":1,
        "question":{"org.matrix.msc1767.text":"Lunch?","body":"Lunch?","msgtype":"m.text"},
        "answers":[{"id":"1","org.matrix.msc1767.text":"Pizza"},{"id":"2","org.matrix.msc1767.text":"Sushi"}]},
        "org.matrix.msc1767.text":"Lunch?\n1. Pizza\n2. Sushi"}
        """#
    static let dinner = #"""
        {"m.poll":{"kind":"m.undisclosed","max_selections":2,"question":{"m.text":[{"body":"Dinner?"}]},
        "answers":[{"m.id":"a","m.text":[{"body":"Soup"}]},{"m.id":"b","m.text":[{"body":"Stew"}]}]},
        "m.text":[{"body":"Dinner?"}]}
        """#
    private static let voice = #"""
        {"msgtype":"m.audio","body":"Voice message.ogg","url":"mxc://hs/v","info":{"duration":67000,"mimetype":"audio/ogg"},
        "org.matrix.msc1767.audio":{"duration":67000,"waveform":[0,512,1024]},"org.matrix.msc3245.voice":{}}
        """#
    private static let location = #"""
        {"msgtype":"m.location","body":"Big Ben","geo_uri":"geo:51.5,-0.12;u=35",
        "org.matrix.msc3488.location":{"uri":"geo:51.5,-0.12;u=35"},"org.matrix.msc3488.asset":{"type":"m.pin"}}
        """#
    private static let spoiler = #"""
        {"msgtype":"m.text","body":"the killer is Tom!","format":"org.matrix.custom.html",
        "formatted_body":"the killer is <span data-mx-spoiler=\"film\">Tom</span>!"}
        """#

    private static func event(
        _ id: String, _ content: String, type: String = "m.room.message", sender: String = "@bob:hs",
        ts: Int = 1_700_000_000_000
    ) -> String {
        #"{"type":"\#(type)","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":\#(ts),"content":\#(content)}"#
    }

    private static func vote(_ id: String, _ answer: String, sender: String, ts: Int = 1_700_000_000_001) -> String {
        event(
            id,
            #"""
            {"m.relates_to":{"rel_type":"m.reference","event_id":"$p"},
            "org.matrix.msc3381.poll.response":{"answers":["\#(answer)"]}}
            """#, type: "org.matrix.msc3381.poll.response", sender: sender, ts: ts)
    }

    private static func end(_ id: String, sender: String, ts: Int = 1_700_000_000_005) -> String {
        event(
            id, #"{"m.relates_to":{"rel_type":"m.reference","event_id":"$p"},"m.text":[{"body":"It is over"}]}"#,
            type: "m.poll.end", sender: sender, ts: ts)
    }

    /// - Parameter events: The events, newest first.
    private func scene(_ events: [String], references: [String] = []) async throws -> MatrixScene {
        let scene = try await MatrixScene()
        scene.server.on(
            "GET", "v3/rooms/*/messages", .json(#"{"start":"a","chunk":[\#(events.joined(separator: ","))]}"#))
        scene.server.on(
            "GET", "v3/rooms/*/joined_members",
            .json(#"{"joined":{"@bob:hs":{"display_name":"Bob"},"@carol:hs":{"display_name":"Carol"}}}"#))
        scene.server.on("GET", "v1/rooms/*/relations/*/m.reference") { request in
            // On two pages.
            request.parameter("from") == nil
                ? .json(#"{"chunk":[\#(references.prefix(2).joined(separator: ","))],"next_batch":"more"}"#)
                : .json(#"{"chunk":[\#(references.dropFirst(2).joined(separator: ","))]}"#)
        }
        return scene
    }

    private func lines(_ events: String..., references: [String] = []) async throws -> [String] {
        let scene = try await scene(events, references: references)
        let (status, run) = try await scene.matrix("messages", "!r:hs")
        #expect(status == 0 && run.errors == [], "\(run.errors)")
        return run.output.map { String($0.dropFirst(18)) }
    }

    // MARK: messages

    @Test(
        arguments: [
            ("m.room.message", voice, "voice message 1:07 (mxc://hs/v)"),
            ("m.room.message", location, "location: Big Ben (geo:51.5,-0.12;u=35)"),
            ("m.room.message", #"{"msgtype":"m.location","body":"here","geo_uri":"geo:900,0"}"#, "here (m.location)"),
            ("m.room.message", spoiler, "the killer is [spoiler: film]!"),
            ("m.sticker", #"{"body":"Wave","url":"mxc://hs/s","info":{}}"#, "sticker: Wave (mxc://hs/s)"),
            (
                "m.room.message", #"{"msgtype":"m.image","body":"look!","filename":"cat.png","url":"mxc://hs/1"}"#,
                "look! (m.image cat.png mxc://hs/1)"
            ),
            (
                "m.room.message", #"{"msgtype":"m.image","body":"cat.png","url":"mxc://hs/1"}"#,
                "cat.png (m.image mxc://hs/1)"
            ),
            ("m.poll.start", #"{"m.poll":{"question":{"m.text":"Q"}},"m.text":"Q, or"}"#, "Q, or (m.poll.start)"),
            (
                "org.matrix.msc3381.poll.start", #"{"org.matrix.msc3381.poll.start":7}"#,
                "(org.matrix.msc3381.poll.start)"
            ),
            ("m.room.message", #"{"msgtype":"org.example","body":"b"}"#, "b (org.example)"),
        ] as [(String, String, String)])
    func eachIsShownAsWhatItIs(type: String, content: String, text: String) async throws {
        #expect(try await lines(Self.event("$e", content, type: type)) == ["$e  Bob  \(text)"])
    }

    @Test func aPollHasItsVotes_andAnEndThatCountsOnlyFromWhoMayEndIt() async throws {
        let votes = [
            Self.vote("$1", "1", sender: "@a:hs"), Self.vote("$2", "2", sender: "@b:hs"),
            Self.vote("$3", "1", sender: "@b:hs", ts: 1_700_000_000_003),
            Self.vote("$4", "2", sender: "@c:hs", ts: 1_700_000_000_009),
        ]
        let poll = Self.event("$p", Self.lunch, type: "org.matrix.msc3381.poll.start")
        #expect(try await lines(poll, references: votes) == ["$p  Bob  poll: Lunch? [Pizza 2] [Sushi 1] (3 voters)"])
        #expect(
            try await lines(poll, references: votes + [Self.end("$5", sender: "@bob:hs")])
                == ["$p  Bob  poll: Lunch? [Pizza 2] [Sushi 0] (ended, 2 voters)"])
        let scene = try await scene([poll], references: votes + [Self.end("$5", sender: "@mallory:hs")])
        scene.server.on("GET", "v3/rooms/*/state/m.room.create", .json(#"{"room_version":"11"}"#))
        #expect(
            try await scene.matrix("messages", "!r:hs").run.output.map { $0.dropFirst(18) }
                == ["$p  Bob  poll: Lunch? [Pizza 2] [Sushi 1] (3 voters)"])
        scene.server.on("GET", "v3/rooms/*/state/m.room.power_levels", .json(#"{"users":{"@mallory:hs":50}}"#))
        #expect(
            try await scene.matrix("messages", "!r:hs").run.output.map { $0.dropFirst(18) }
                == ["$p  Bob  poll: Lunch? [Pizza 2] [Sushi 0] (ended, 2 voters)"])
    }

    @Test func anUndisclosedPollKeepsItsResultsUntilItsEnd() async throws {
        let votes = [Self.vote("$1", "a", sender: "@a:hs")]
        let poll = Self.event("$p", Self.dinner, type: "m.poll.start")
        #expect(
            try await lines(poll, references: votes)
                == ["$p  Bob  poll: Dinner? [Soup] [Stew] (choose up to 2, 1 voter, results when it ends)"])
        #expect(
            try await lines(poll, references: votes + [Self.end("$5", sender: "@bob:hs")])
                == ["$p  Bob  poll: Dinner? [Soup 1] [Stew 0] (choose up to 2, ended, 1 voter)"])
    }

    @Test func aReplyNamesWhomItAnswers_andAThreadIsMarked() async throws {
        let reply = Self.event(
            "$2",
            #"{"msgtype":"m.text","body":"> <@carol:hs> hi\n\nyes","m.relates_to":{"m.in_reply_to":{"event_id":"$1"}}}"#
        )
        let threaded = Self.event(
            "$3",
            #"""
            {"msgtype":"m.text","body":"aside","m.relates_to":{"rel_type":"m.thread","event_id":"$1",
            "is_falling_back":true,"m.in_reply_to":{"event_id":"$2"}}}
            """#)
        #expect(
            try await lines(threaded, reply, MatrixScene.message("$1", "hi", sender: "@carol:hs")) == [
                "$1  Carol  hi", "$2  Bob  yes (reply to Carol)", "$3  Bob  aside (in thread $1)",
            ])
        // The message being replied to is not among the printed ones.
        let scene = try await scene([reply])
        scene.server.on(
            "GET", "v3/rooms/*/event/*",
            [
                .json(MatrixScene.message("$1", "hi", sender: "@carol:hs")),
                .error(404, "M_NOT_FOUND"),
            ])
        for name in ["Carol", "$1"] {
            #expect(
                try await scene.matrix("messages", "!r:hs").run.output.map { $0.dropFirst(18) }
                    == ["$2  Bob  yes (reply to \(name))"])
        }
    }

    @Test func jsonSaysWhatItIs() async throws {
        func object(_ event: String, references: [String] = []) async throws -> [String: Any] {
            try #require(
                try await scene([event], references: references).matrix("messages", "!r:hs", "--json").run.objects.first
            )
        }
        let poll = try await object(
            Self.event("$p", Self.lunch, type: "org.matrix.msc3381.poll.start"),
            references: [Self.vote("$1", "2", sender: "@a:hs")])
        #expect(poll["kind"] as? String == "poll")
        #expect(poll["text"] as? String == "poll: Lunch? [Pizza 0] [Sushi 1] (1 voter)")
        let fields = try #require(poll["poll"] as? [String: Any])
        #expect(fields["question"] as? String == "Lunch?" && fields["max_selections"] as? Int == 1)
        #expect(fields["disclosed"] as? Bool == true && fields["ended"] as? Bool == false)
        #expect(fields["voters"] as? Int == 1)
        let answers = try #require(fields["answers"] as? [[String: Any]])
        #expect(answers.map { $0["text"] as? String } == ["Pizza", "Sushi"])
        #expect(answers.map { $0["id"] as? String } == ["1", "2"] && answers.map { $0["votes"] as? Int } == [0, 1])

        let voice = try await object(Self.event("$v", Self.voice))
        #expect(voice["kind"] as? String == "voice" && voice["duration_ms"] as? Int == 67000)
        #expect(voice["url"] as? String == "mxc://hs/v" && voice["filename"] as? String == "Voice message.ogg")
        let location = try await object(Self.event("$l", Self.location))
        #expect(location["kind"] as? String == "location" && location["geo_uri"] as? String == "geo:51.5,-0.12;u=35")
        let spoiler = try await object(Self.event("$s", Self.spoiler))
        #expect(spoiler["kind"] as? String == "text" && spoiler["text"] as? String == "the killer is [spoiler: film]!")
        let threaded = try await object(
            Self.event(
                "$3",
                #"""
                {"msgtype":"m.text","body":"aside","m.relates_to":{"rel_type":"m.thread","event_id":"$1",
                "m.in_reply_to":{"event_id":"$2"}}}
                """#))
        #expect(threaded["thread_id"] as? String == "$1" && threaded["reply_to"] as? String == "$2")
    }

    @Test func theServerIsAskedForPolls() async throws {
        let scene = try await scene([])
        _ = try await scene.matrix("messages", "!r:hs")
        let filter = scene.server.requests("GET", "v3/rooms/*/messages").first?.parameter("filter") ?? ""
        #expect(filter.contains("m.poll.start") && filter.contains("org.matrix.msc3381.poll.start"))
    }

    // MARK: listen

    @Test func listeningShowsVotesEndsRepliesThreadsAndEdits() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let run = try scene.run(["matrix", "listen", "--count", "9"])
        #expect(await run.waitFor { $0.contains { $0.hasSuffix("was syncInProgress") } })
        let answer = #"{"msgtype":"m.text","body":"x","m.relates_to":{"m.in_reply_to":{"event_id":"$m"}}}"#
        let aside = #"{"msgtype":"m.text","body":"y","m.relates_to":{"rel_type":"m.thread","event_id":"$m"}}"#
        let edit = #"""
            {"msgtype":"m.text","body":"* z","m.new_content":{"msgtype":"m.text","body":"z"},
            "m.relates_to":{"rel_type":"m.replace","event_id":"$m"}}
            """#
        scene.bring(
            MatrixScene.room(timeline: [
                Self.event("$p", Self.lunch, type: "org.matrix.msc3381.poll.start"),
                Self.vote("$v1", "1", sender: "@bob:hs"), Self.vote("$v2", "no such", sender: "@bob:hs"),
                Self.end("$x", sender: "@alice:hs"), Self.end("$y", sender: "@bob:hs"),
                MatrixScene.message("$m", "hi", sender: "@alice:hs"), Self.event("$a", answer),
                Self.event("$b", aside), Self.event("$c", edit, sender: "@alice:hs"),
            ]))
        #expect(await run.status() == 0)
        #expect(
            run.output.suffix(9).map { $0.split(separator: "  ").dropFirst(3).joined(separator: "  ") } == [
                "Bob: poll: Lunch? [Pizza] [Sushi]", "Bob: voted for [Pizza] in the poll “Lunch?”",
                "Bob: voted in the poll “Lunch?”", "Alice: cannot end the poll “Lunch?”: It is over",
                "Bob: ended the poll “Lunch?” [Pizza 0] [Sushi 0] (0 voters): It is over", "Alice: hi",
                "Bob: x (reply to Alice)",
                "Bob: y (in thread $m)", "Alice: z (edits $m)",
            ])
    }

    @Test func listeningInJSONSaysWhatItIs() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let run = try scene.run(["matrix", "listen", "--json", "--count", "3"])
        #expect(await run.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        scene.bring(
            MatrixScene.room(timeline: [
                Self.event("$p", Self.dinner, type: "m.poll.start"), Self.vote("$v1", "a", sender: "@bob:hs"),
                Self.event("$s", Self.spoiler),
            ]))
        #expect(await run.status() == 0)
        let events = run.objects.filter { $0["type"] as? String == "event" }
        #expect(events.map { $0["kind"] as? String } == ["poll", "poll_vote", "text"])
        #expect(events.map { $0["poll_id"] as? String } == [nil, "$p", nil])
        #expect(events.last?["text"] as? String == "the killer is [spoiler: film]!")
        #expect(((events.first?["poll"] as? [String: Any])?["answers"] as? [Any])?.count == 2)
        #expect(events.allSatisfy { $0["data"] is String })
    }

    @Test func theEndOfAPollHasItsCounts() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let run = try scene.run(["matrix", "listen", "--count", "6"])
        #expect(await run.waitFor { $0.contains { $0.hasSuffix("was syncInProgress") } })
        let poll = Self.event("$p", Self.dinner, type: "m.poll.start")
        scene.bring(
            MatrixScene.room(timeline: [
                poll, Self.vote("$v1", "a", sender: "@alice:hs"), Self.vote("$v2", "b", sender: "@bob:hs"),
                Self.vote("$v3", "a", sender: "@bob:hs", ts: 1_700_000_000_002),
            ]))
        scene.bring(
            MatrixScene.room(timeline: [Self.end("$x", sender: "@alice:hs"), Self.end("$y", sender: "@bob:hs")]))
        #expect(await run.status() == 0)
        #expect(
            run.output.suffix(2).map { $0.split(separator: "  ").dropFirst(3).joined(separator: "  ") } == [
                "Alice: cannot end the poll “Dinner?”: It is over",
                "Bob: ended the poll “Dinner?” [Soup 2] [Stew 0] (2 voters): It is over",
            ])
    }

    @Test func theEndOfAPollHasItsCountsInJSON() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let run = try scene.run(["matrix", "listen", "--json", "--count", "4"])
        #expect(await run.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        scene.bring(
            MatrixScene.room(timeline: [
                Self.event("$p", Self.dinner, type: "m.poll.start"), Self.vote("$v1", "a", sender: "@alice:hs"),
                Self.end("$x", sender: "@alice:hs"), Self.end("$y", sender: "@bob:hs"),
            ]))
        #expect(await run.status() == 0)
        let ends = run.objects.filter { $0["kind"] as? String == "poll_end" }
        #expect(ends.map { $0["poll_id"] as? String } == ["$p", "$p"])
        // An end that does not count has no results.
        #expect(ends.first?["poll"] == nil)
        let poll = try #require(ends.last?["poll"] as? [String: Any])
        #expect(poll["ended"] as? Bool == true && poll["voters"] as? Int == 1)
        #expect((poll["answers"] as? [[String: Any]])?.map { $0["votes"] as? Int } == [1, 0])
    }

    @Test func liveLocationsAreShownAsWhatTheyAre() async throws {
        func info(_ id: String, _ content: String, type: String, key: String = "@bob:hs") -> String {
            Self.event(id, content, type: type).replacingOccurrences(
                of: #""sender""#, with: #""state_key":"\#(key)","sender""#)
        }
        let events = [
            info(
                "$1",
                #"{"description":"On my way","live":true,"timeout":3600000,"org.matrix.msc3488.ts":1700000000000}"#,
                type: "org.matrix.msc3672.beacon_info"),
            Self.event(
                "$2",
                #"""
                {"m.relates_to":{"rel_type":"m.reference","event_id":"$1"},"org.matrix.msc3488.ts":1700000000000,
                "org.matrix.msc3488.location":{"uri":"geo:51.5,-0.12;u=35","description":"Bridge"}}
                """#, type: "org.matrix.msc3672.beacon"),
            Self.event(
                "$3",
                #"{"m.relates_to":{"rel_type":"m.reference","event_id":"$1"},"m.location":{"uri":"geo:51.6,-0.1"}}"#,
                type: "m.beacon"),
            info("$4", #"{"live":false,"timeout":3600000}"#, type: "m.beacon_info"),
            // From another user, and nowhere on Earth.
            info("$5", #"{"live":true,"timeout":1}"#, type: "m.beacon_info", key: "@alice:hs"),
            Self.event("$6", #"{"m.location":{"uri":"geo:900,0"}}"#, type: "m.beacon"),
        ]
        for isJSON in [false, true] {
            let scene = try await MatrixScene()
            scene.syncsBegin(MatrixScene.room(name: "Lobby"))
            let run = try scene.run(["matrix", "listen", "--count", "6"] + (isJSON ? ["--json"] : []))
            #expect(await run.waitFor { $0.contains { $0.contains("running") } })
            scene.bring(MatrixScene.room(timeline: events))
            #expect(await run.status() == 0)
            guard isJSON else {
                let lines = run.output.suffix(6).map { $0.split(separator: "  ").dropFirst(3).joined(separator: "  ") }
                #expect(
                    lines.prefix(4) == [
                        "Bob: shares a live location for 1:00:00: On my way",
                        "Bob: live location: Bridge (geo:51.5,-0.12;u=35)", "Bob: live location: geo:51.6,-0.1",
                        "Bob: stopped sharing a live location",
                    ])
                #expect(lines.suffix(2).allSatisfy { $0.hasPrefix("Bob: {") })
                continue
            }
            let objects = run.objects.filter { $0["type"] as? String == "event" }
            #expect(
                objects.map { $0["kind"] as? String } == [
                    "live_location_start", "live_location", "live_location", "live_location_end", nil, nil,
                ])
            #expect(
                objects.map { $0["geo_uri"] as? String }.prefix(3) == [nil, "geo:51.5,-0.12;u=35", "geo:51.6,-0.1"])
            #expect(objects.first?["duration_ms"] as? Int == 3_600_000)
        }
    }

    // MARK: rooms

    @Test func roomsSayHowMuchIsUnreadInThreads() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(
            MatrixScene.room(
                name: "Lobby",
                more: #"""
                    ,"unread_notifications":{"notification_count":1,"highlight_count":0},
                    "unread_thread_notifications":{"$root":{"notification_count":2,"highlight_count":1}}
                    """#))
        let lines = try await scene.matrix("rooms").run.output
        #expect(lines.first?.contains("3 unread, 2 in threads") == true, "\(lines)")
        let filter = scene.server.requests("GET", "v3/sync").first?.parameter("filter") ?? ""
        #expect(filter.contains(#""unread_thread_notifications":true"#))
        let room = try #require(try await scene.matrix("rooms", "--json").run.objects.first)
        #expect(room["unread"] as? Int == 3 && room["highlights"] as? Int == 1)
        let thread = try #require((room["unread_threads"] as? [String: [String: Int]])?["$root"])
        #expect(thread == ["unread": 2, "highlights": 1])
    }
}
