import Foundation
import JSONBytes
import MatrixTestSupport
import TestSupport
import Testing

/// The `matrix` commands for a room's people, topic, history and receipts.
@Suite(.overSockets)
struct MatrixRoomCommandTests {
    private static let commands: [[String]] = [
        ["kick", "!r:hs", "@bob:hs"], ["ban", "!r:hs", "@bob:hs"], ["unban", "!r:hs", "@bob:hs"], ["topic", "!r:hs"],
        ["topic", "!r:hs", "new"], ["members", "!r:hs"], ["search", "x"], ["search", "x", "--room", "#a:hs"],
        ["receipts", "!r:hs"], ["receipts", "a name"], ["read", "!r:hs"], ["read", "!r:hs", "$e"],
    ]

    @Test(arguments: commands)
    func withoutALoginTheStatusIs77(arguments: [String]) async throws {
        try await MatrixScene.expectLoginToBeAskedFor(arguments)
    }

    @Test(arguments: commands)
    func aRefusalIsStatus77_andItsWordsAreEscaped(arguments: [String]) async throws {
        try await MatrixScene.expectRefusal(of: arguments)
    }

    @Test(arguments: commands)
    func aDeadLoginIsStatus77_andSaysWhatHelps(arguments: [String]) async throws {
        let scene = try await MatrixScene()
        scene.server.setGate { _ in .unknownToken(softLogout: false) }
        let run = try scene.run(["matrix"] + arguments)
        #expect(await run.status() == 77)
        #expect(run.words.contains("pusher-cli matrix login"))
        #expect(!run.words.contains(MatrixScene.token))
    }

    @Test(arguments: [
        ["kick"], ["kick", "!r:hs"], ["ban", "!r:hs", "bob"], ["unban", "!r:hs", "@bob"], ["kick", "!r:hs", ""],
        ["topic"], ["topic", "!r:hs", "x", "--json"], ["topic", "!r:hs", "two", "words"], ["members"],
        ["members", "!r:hs", "--membership", "friends"], ["search"], ["search", ""], ["search", " \n"],
        ["search", "x", "--limit", "0"], ["search", "x", "--limit", "-1"], ["search", "x", "--limit", "many"],
        ["receipts"], ["receipts", "!r:hs", "e"], ["read"], ["read", "!r:hs", ""], ["read", "!r:hs", "nonsense"],
        ["read", "!r:hs", "$"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        try await MatrixScene.expectWrongUse(arguments)
    }

    // MARK: Membership

    @Test(arguments: ["kick", "ban", "unban"])
    func everyUserIsTried_andTheStatusIsThatOfTheWorst(command: String) async throws {
        let scene = try await MatrixScene()
        let path = "v3/rooms/*/\(command)"
        scene.server.on("POST", path) { request in
            switch request.json?["user_id"]?.string {
            case "@bad:hs": .error(403, "M_FORBIDDEN")
            case "@odd:hs": .error(400, "M_BAD_JSON")
            default: .ok
            }
        }
        let one = try await scene.matrix(command, "!r:hs", "@bob:hs", "--reason", "because")
        #expect(one.status == 0 && one.run.words.isEmpty)
        #expect(scene.server.requests("POST", path).first?.json?["reason"]?.string == "because")
        let (status, run) = try await scene.matrix(
            command, "!r:hs", "@bad:hs", "@odd:hs", "@bob:hs", "@bad:hs", "@carol:hs")
        #expect(status == 77)
        #expect(run.errors.count == 2 && run.errors.first?.hasPrefix("error: @bad:hs is not ") == true)
        #expect(
            scene.server.requests("POST", path).dropFirst().map { $0.json?["user_id"]?.string } == [
                "@bad:hs", "@odd:hs", "@bob:hs", "@carol:hs",
            ])
    }

    // MARK: Topic

    @Test func theTopicIsPrinted_alsoIfThereIsNone() async throws {
        let scene = try await MatrixScene()
        let path = "v3/rooms/*/state/m.room.topic"
        scene.server.on("GET", path, .json(#"{"topic":\#(HostileText.json("Plans\n" + HostileText.short))}"#))
        let (status, run) = try await scene.matrix("topic", "!r:hs")
        #expect(status == 0)
        #expect(run.output.count == 1 && run.output.first?.hasPrefix(#"Plans\n"#) == true)
        #expect(HostileText.flaws(in: run.output.first ?? "", isPiped: true) == [])
        let json = try await scene.matrix("topic", "!r:hs", "--json").run
        #expect(json.objects.first?["type"] as? String == "topic" && json.objects.first?["time"] != nil)
        #expect(json.objects.first?["room_id"] as? String == "!r:hs")
        #expect(json.objects.first?["topic"] as? String == "Plans\n" + HostileText.short)
        #expect(HostileText.flaws(in: json.output.first ?? "") == [])
        scene.server.on("GET", path, .error(404, "M_NOT_FOUND"))
        let none = try await scene.matrix("topic", "!r:hs")
        #expect(none.status == 0 && none.run.words.isEmpty)
        #expect(try await scene.matrix("topic", "!r:hs", "--json").run.objects.first?["topic"] as? String == "")
    }

    @Test(arguments: [("Release on Friday", "", "Release on Friday"), ("-", "a\nb\n\n", "a\nb\n"), ("-", "a\r\n", "a")])
    func theTopicIsSet(text: String, input: String, topic: String) async throws {
        let scene = try await MatrixScene()
        scene.server.on("PUT", "v3/rooms/*/state/m.room.topic", .json(#"{"event_id":"$t"}"#))
        let (status, run) = try await scene.matrix("topic", "!r:hs", text, input: input)
        #expect(status == 0 && run.words.isEmpty)
        let request = try #require(scene.server.requests("PUT", "v3/rooms/*/state/m.room.topic").first)
        #expect(request.json?["topic"]?.string == topic)
    }

    @Test func anEmptyTopicClearsIt() async throws {
        let scene = try await MatrixScene()
        scene.server.on("PUT", "v3/rooms/*/state/m.room.topic", .json(#"{"event_id":"$t"}"#))
        for text in ["", "-"] { #expect(try await scene.matrix("topic", "!r:hs", text).status == 0) }
        let topics = scene.server.requests("PUT", "v3/rooms/*/state/m.room.topic").map { $0.json?["topic"]?.string }
        #expect(topics == ["", ""])
    }

    // MARK: Members

    private static func member(_ user: String, _ content: String) -> String {
        #"""
        {"type":"m.room.member","event_id":"$\#(user)","sender":"\#(user)","state_key":"\#(user)","content":{\#(content)}}
        """#
    }

    private func sceneWithMembers(create: String) async throws -> MatrixScene {
        let scene = try await MatrixScene()
        // Like from a server that ignores the parameter.
        let members = [
            Self.member("@bob:hs", #""membership":"join","displayname":"Bob""#),
            Self.member("@evil:hs", #""membership":"join","displayname":\#(HostileText.json(HostileText.short))"#),
            Self.member("@alice:hs", #""membership":"join","displayname":"Alice""#),
            Self.member("@none:hs", #""membership":"join""#),
            Self.member("@spam:hs", #""membership":"ban","reason":"advertising\u001b[2J""#),
        ].joined(separator: ",")
        scene.server.on("GET", "v3/rooms/*/members", .json(#"{"chunk":[\#(members),{"type":"m.x"},1]}"#))
        scene.server.on("GET", "v3/rooms/*/state/m.room.create", .json(create))
        scene.server.on(
            "GET", "v3/rooms/*/state/m.room.power_levels",
            .json(#"{"users":{"@bob:hs":50,"@none:hs":-5,"@alice:hs":100}}"#))
        return scene
    }

    @Test func membersAreListedByPower() async throws {
        let scene = try await sceneWithMembers(create: #"{"room_version":"11"}"#)
        let (status, run) = try await scene.matrix("members", "!r:hs")
        #expect(status == 0)
        #expect(run.output.count == 4)
        #expect(run.output.prefix(2) == ["Alice  @alice:hs  power 100", "Bob  @bob:hs  power 50"])
        #expect(run.output.last == "@none:hs  power -5")
        for line in run.output { #expect(HostileText.flaws(in: line, isPiped: true) == []) }
        #expect(scene.server.requests("GET", "v3/rooms/*/members").first?.parameter("membership") == "join")
        let json = try await scene.matrix("members", "!r:hs", "--json").run
        #expect(json.objects.count == 4 && json.objects.allSatisfy { $0["type"] as? String == "member" })
        #expect(json.objects[0]["user_id"] as? String == "@alice:hs")
        #expect(json.objects[0]["name"] as? String == "Alice")
        #expect(json.objects[0]["power_level"] as? Int == 100)
        #expect(json.objects.map { $0["membership"] as? String } == ["join", "join", "join", "join"])
        for line in json.output { #expect(HostileText.flaws(in: line) == []) }
    }

    @Test func creatorsOfNewRoomsAreAboveAll_andOthersAreListedByMembership() async throws {
        let create = #"""
            {"type":"m.room.create","state_key":"","sender":"@none:hs","event_id":"$c","content":{"room_version":"12"}}
            """#
        let scene = try await sceneWithMembers(create: create)
        #expect(try await scene.matrix("members", "!r:hs").run.output.first == "@none:hs  creator")
        let json = try await scene.matrix("members", "!r:hs", "--json").run.objects
        #expect(json.first?["creator"] as? Bool == true && json.first?["power_level"] == nil)
        let banned = try await scene.matrix("members", "!r:hs", "--membership", "ban").run.output
        #expect(banned == [#"@spam:hs  ban: advertising\u{1B}[2J"#])
        #expect(try await scene.matrix("members", "!r:hs", "--membership", "knock").run.words.isEmpty)
    }

    @Test func levelsAtTheEndsOfTheScaleAreLevels() async throws {
        let scene = try await sceneWithMembers(create: #"{"room_version":"11"}"#)
        scene.server.on(
            "GET", "v3/rooms/*/state/m.room.power_levels",
            .json(#"{"users":{"@bob:hs":-9223372036854775808,"@alice:hs":9223372036854775807},"users_default":"7"}"#))
        let (status, run) = try await scene.matrix("members", "!r:hs")
        #expect(status == 0)
        #expect(run.output.first == "Alice  @alice:hs  power 9223372036854775806")
        #expect(run.output.last == "Bob  @bob:hs  power -9223372036854775808")
    }

    // MARK: Search

    private static func found(_ ids: [String], next: String?) -> FakeAnswer {
        let results = ids.map { id in
            #"""
            {"result":{"type":"m.room.message","event_id":"\#(id)","room_id":"!r:hs","sender":"@bob:hs",
            "origin_server_ts":1700000000000,"content":{"msgtype":"m.text","body":"the plan"}},
            "context":{"profile_info":{"@bob:hs":{"displayname":"Bob\u001b[2J"}}}}
            """#
        }
        let next = next.map { #","next_batch":"\#($0)""# } ?? ""
        return .json(
            #"{"search_categories":{"room_events":{"count":9,"results":[\#(results.joined(separator: ","))]\#(next)}}}"#
        )
    }

    @Test func aSearchGoesOnUntilThereIsEnough_andShowsNames() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "The lobby"))
        scene.server.on("POST", "v3/search") { request in
            switch request.parameter("next_batch") {
            case nil: Self.found(["$3"], next: "2")
            case "2": Self.found([], next: "3")
            default: Self.found(["$2", "$1"], next: "4")
            }
        }
        let (status, run) = try await scene.matrix("search", "plan", "--limit", "2", "--room", "the lobby")
        #expect(status == 0)
        #expect(
            run.output.map { $0.dropFirst(18) } == [
                #"The lobby  $3  Bob\u{1B}[2J  the plan"#, #"The lobby  $2  Bob\u{1B}[2J  the plan"#,
            ])
        let asked = try #require(scene.server.requests("POST", "v3/search").first?.json)
        let criteria = asked["search_categories"]?["room_events"]
        #expect(criteria?["search_term"]?.string == "plan" && criteria?["order_by"]?.string == "recent")
        #expect(criteria?["filter"]?["rooms"]?.array?.compactMap(\.string) == ["!r:hs"])
        let syncs = scene.server.requests("GET", "v3/sync").count
        let json = try await scene.matrix("search", "plan", "--json", "--limit", "3").run.objects
        #expect(json.map { $0["event_id"] as? String } == ["$3", "$2", "$1"])
        #expect(json.allSatisfy { $0["type"] as? String == "message" && $0["room_id"] as? String == "!r:hs" })
        #expect(json.first?["time"] as? String == "2023-11-14T22:13:20.000Z")
        #expect(scene.server.requests("GET", "v3/sync").count == syncs)  // names are only for people
        scene.server.on("POST", "v3/search", Self.found([], next: nil))
        let none = try await scene.matrix("search", "nothing")
        #expect(none.status == 0 && none.run.words.isEmpty)
    }

    @Test func aSearchThatGivesEmptyPagesForEverComesToAnEnd() async throws {
        let scene = try await MatrixScene()
        scene.server.on("POST", "v3/search") { request in
            let page = request.parameter("next_batch").flatMap { Int($0) } ?? 0
            return page > 1_000 ? .error(404, "M_NOT_FOUND") : Self.found([], next: "\(page + 1)")
        }
        let (status, run) = try await scene.matrix("search", "x")
        #expect(status == 69)
        #expect(run.errors == ["error: the server gave 100 pages without a message"])
    }

    // MARK: Receipts

    private static let receipts = #"""
        ,"ephemeral":{"events":[{"type":"m.receipt","content":{
        "$new":{"m.read":{"@bob:hs":{"ts":1700000060000}}},
        "$old":{"m.read":{"@carol:hs":{"ts":1700000000000,"thread_id":"main"}}},
        "$mid":{"m.read":{"@bob:hs":{"ts":1700000050000,"thread_id":"$root"}},
        "m.read.private":{"@alice:hs":{"ts":1700000030000}}}}}]}
        """#

    private func sceneWithReceipts() async throws -> MatrixScene {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "The lobby", more: Self.receipts))
        scene.server.on(
            "GET", "v3/rooms/*/joined_members",
            .json(#"{"joined":{"@bob:hs":{"display_name":"Bob\u001b[2J"},"@carol:hs":{"display_name":"Carol"}}}"#))
        scene.server.on("GET", "v3/rooms/*/context/*") { request in
            let id = request.path.last ?? ""
            return .json(
                #"{"event":\#(MatrixScene.message(id, "x")),"events_before":[],"events_after":[],"end":"after \#(id)"}"#
            )
        }
        scene.server.on("GET", "v3/rooms/*/messages") { request in
            let messages = ["$old", "$mid", "$new"].map { MatrixScene.message($0, "x") }
            let count =
                request.parameter("from") == "after $old" ? 2 : request.parameter("from") == "after $mid" ? 1 : 0
            return .json(#"{"start":"a","chunk":[\#(messages.suffix(count).joined(separator: ","))]}"#)
        }
        return scene
    }

    @Test func receiptsSayWhoHasReadWhat_newestFirst() async throws {
        let scene = try await sceneWithReceipts()
        let (status, run) = try await scene.matrix("receipts", "The lobby")
        #expect(status == 0)
        #expect(
            run.output.map { $0.dropFirst(18) } == [
                #"Bob\u{1B}[2J  @bob:hs  $new"#, #"Bob\u{1B}[2J  @bob:hs  $mid  thread $root"#,
                "@alice:hs  $mid  private", "Carol  @carol:hs  $old",
            ])
        let json = try await scene.matrix("receipts", "!r:hs", "--json").run.objects
        #expect(json.map { $0["event_id"] as? String } == ["$new", "$mid", "$mid", "$old"])
        #expect(json[0]["type"] as? String == "receipt" && json[0]["user_id"] as? String == "@bob:hs")
        #expect(json[0]["time"] as? String == "2023-11-14T22:14:20.000Z")
        #expect(json.map { $0["thread_id"] as? String } == [nil, "$root", nil, "main"])
        #expect(json.map { $0["private"] as? Bool } == [false, false, true, false])
    }

    @Test func receiptsOfAnEventAreThoseOfItAndOfLaterOnes() async throws {
        let scene = try await sceneWithReceipts()
        for (event, users) in [
            ("$new", ["@bob:hs"]), ("$mid", ["@bob:hs", "@alice:hs"]), ("$old", ["@bob:hs", "@alice:hs", "@carol:hs"]),
        ] {
            let json = try await scene.matrix("receipts", "!r:hs", event, "--json").run.objects
            #expect(json.map { $0["user_id"] as? String } == users, "\(event)")
        }
    }

    @Test func aRoomThatWeAreNotInHasNoReceipts() async throws {
        let scene = try await sceneWithReceipts()
        let (status, run) = try await scene.matrix("receipts", "!other:hs")
        #expect(status == 65)
        #expect(run.errors == ["error: you are not in !other:hs: pusher-cli matrix rooms lists your rooms"])
        scene.server.on("GET", "v3/rooms/*/context/*", .error(404, "M_NOT_FOUND"))
        #expect(try await scene.matrix("receipts", "!r:hs", "$unknown").status == 65)
    }

    @Test func aRoomIsMarkedAsRead() async throws {
        let scene = try await MatrixScene()
        scene.server.on("POST", "v3/rooms/*/read_markers", .ok)
        scene.server.on("GET", "v3/rooms/*/messages") { request in
            request.parameter("from") == nil
                ? .json(#"{"start":"a","end":"b","chunk":[]}"#)
                : .json(#"{"start":"b","end":"c","chunk":[\#(MatrixScene.message("$newest\\u001b", "x"))]}"#)
        }
        let (status, run) = try await scene.matrix("read", "!r:hs")
        #expect(status == 0)
        #expect(run.output == [#"$newest\u{1B}"#])
        let first = try #require(scene.server.requests("POST", "v3/rooms/*/read_markers").first?.json)
        #expect(first["m.fully_read"]?.string == "$newest\u{1B}" && first["m.read"]?.string == "$newest\u{1B}")
        #expect(first["m.read.private"] == nil)
        #expect(try await scene.matrix("read", "!r:hs", "$e", "--private").run.output == ["$e"])
        let second = try #require(scene.server.requests("POST", "v3/rooms/*/read_markers").last?.json)
        #expect(second["m.fully_read"]?.string == "$e" && second["m.read.private"]?.string == "$e")
        #expect(second["m.read"] == nil)
        scene.server.on("GET", "v3/rooms/*/messages", .json(#"{"start":"a","chunk":[]}"#))
        #expect(try await scene.matrix("read", "!r:hs").status == 65)
    }

    @Test func aThreadIsMarkedAsRead() async throws {
        let scene = try await MatrixScene()
        scene.server.on("POST", "v3/rooms/*/receipt/*/*", .ok)
        scene.server.on(
            "GET", "v1/rooms/*/relations/*/m.thread",
            [.json(#"{"chunk":[\#(MatrixScene.message("$newest", "x"))],"next_batch":"n"}"#), .json(#"{"chunk":[]}"#)])
        let (status, run) = try await scene.matrix("read", "!r:hs", "--thread", "$root")
        #expect(status == 0 && run.output == ["$newest"])
        let receipt = try #require(scene.server.requests("POST", "v3/rooms/*/receipt/*/*").first)
        #expect(receipt.path.suffix(2) == ["m.read", "$newest"] && receipt.json?["thread_id"]?.string == "$root")
        #expect(try await scene.matrix("read", "!r:hs", "$e", "--thread", "$root", "--private").run.output == ["$e"])
        let second = try #require(scene.server.requests("POST", "v3/rooms/*/receipt/*/*").last)
        #expect(second.path.suffix(2) == ["m.read.private", "$e"] && second.json?["thread_id"]?.string == "$root")
        let empty = try await scene.matrix("read", "!r:hs", "--thread", "$root")
        #expect(empty.status == 65)
        #expect(empty.run.errors == ["error: there is nothing to read in the thread $root"])
        #expect(try await scene.matrix("read", "!r:hs", "--thread", "root").status == 64)
    }
}
