import Basics
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// The `matrix` commands that make a few requests and end.
@Suite(.overSockets)
struct MatrixCommandTests {
    private static let commands: [[String]] = [
        ["rooms"], ["listen", "--connect-timeout", "0.5"], ["send", "!r:hs", "x"], ["messages", "!r:hs"], ["create"],
        ["join", "!r:hs"], ["leave", "!r:hs"], ["invite", "!r:hs", "@bob:hs"], ["react", "!r:hs", "$e", "x"],
        ["upload", "/etc/hostname"], ["download", "mxc://hs/abc", "/nowhere/file"], ["logout"],
        ["send", "a name", "x"], ["send", "#alias:hs", "x"],
    ]

    @Test(arguments: commands)
    func whoIsNotLoggedInIsToldSo(arguments: [String]) async throws {
        try await MatrixScene.expectLoginToBeAskedFor(arguments)
    }

    @Test(arguments: commands)
    func aServerThatIsGoneIsStatus69(arguments: [String]) async throws {
        let scene = try await MatrixScene(isLoggedIn: false)
        try scene.logIn(to: "http://127.0.0.1:1")
        let run = try scene.run(["matrix"] + arguments)
        #expect(await run.status() == 69)
        #expect(run.words.contains("cannot connect to 127.0.0.1:1"))
        #expect(!run.words.contains(MatrixScene.token))
        #expect(!run.listing.contains(MatrixScene.token))
    }

    @Test(arguments: commands.filter { $0 != ["logout"] })
    func aDeadLoginIsStatus77(arguments: [String]) async throws {
        let scene = try await MatrixScene()
        scene.server.setGate { $0.token == nil ? nil : .unknownToken(softLogout: false) }
        let run = try scene.run(["matrix"] + arguments)
        #expect(await run.status() == 77)
        #expect(run.words.contains("M_UNKNOWN_TOKEN"))
        #expect(!run.words.contains(MatrixScene.token))
    }

    @Test func nonsenseFromTheServerIsStatus69() async throws {
        let scene = try await MatrixScene()
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json("[]"))
        #expect(try await scene.matrix("send", "!r:hs", "x").status == 69)
        scene.server.on("GET", "v3/sync", .json("nonsense"))
        #expect(try await scene.matrix("rooms").status == 69)
    }

    // MARK: Rooms

    private static let twoRooms = #"""
        ,"rooms":{"join":{"!r:hs":{"state":{"events":[
        {"type":"m.room.name","state_key":"","event_id":"$n","sender":"@bob:hs","content":{"name":"The lobby"}}]},
        "summary":{"m.joined_member_count":3},"unread_notifications":{"notification_count":2,"highlight_count":1},
        "timeline":{"events":[\#(MatrixScene.message("$1", "hi"))]}}},
        "invite":{"!i:hs":{"invite_state":{"events":[
        {"type":"m.room.name","state_key":"","sender":"@bob:hs","content":{"name":"Party\u0007"}},
        {"type":"m.room.member","state_key":"@alice:hs","sender":"@bob:hs","content":{"membership":"invite"}}]}}}}
        """#

    @Test func roomsAreListedWithInvitations() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(Self.twoRooms)
        let (status, run) = try await scene.matrix("rooms", "--json")
        #expect(status == 0)
        let rooms = run.objects
        #expect(rooms.map { $0["room_id"] as? String } == ["!r:hs", "!i:hs"])
        #expect(rooms.map { $0["membership"] as? String } == ["join", "invite"])
        #expect(rooms[0]["name"] as? String == "The lobby")
        #expect(rooms[0]["members"] as? Int == 3)
        #expect(rooms[0]["unread"] as? Int == 2)
        #expect(rooms[0]["highlights"] as? Int == 1)
        #expect(rooms[0]["last_message"] as? String == "2023-11-14T22:13:20.000Z")
        #expect(rooms[1]["inviter"] as? String == "@bob:hs")
        let text = try await scene.matrix("rooms").run.output
        #expect(text.count == 2)
        #expect(text.first?.hasPrefix("The lobby  !r:hs  3 members  2 unread  2023-11-1") == true)
        #expect(!text.joined().contains("\u{7}"))
    }

    @Test func aRoomIsFoundByItsName_ifOnlyOneHasIt() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(Self.twoRooms)
        #expect(try await scene.matrix("send", "the LOBBY", "x").status == 0)
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").map { $0.path[4] } == ["!r:hs"])
        let unknown = try await scene.matrix("send", "Elsewhere", "x")
        #expect(unknown.status == 65)
        #expect(unknown.run.errors.first?.contains("there is no room “Elsewhere”") == true)
        scene.bring(
            MatrixScene.room("!a:hs", name: "Twins").replacingOccurrences(
                of: #"{"join":{"#,
                with: #"{"join":{"!b:hs":{"#
                    + #""state":{"events":[{"type":"m.room.name","state_key":"","event_id":"$n2","sender":"@b:hs","#
                    + #""content":{"name":"Twins"}}]}},"#))
        let twins = try await scene.matrix("send", "Twins", "x")
        #expect(twins.status == 65)
        #expect(twins.run.errors == ["error: 2 rooms are called “Twins”; give an id: !a:hs (Twins), !b:hs (Twins)"])
    }

    // MARK: Sending

    private func sent(_ scene: MatrixScene) throws -> [String: Any] {
        let body = try #require(scene.server.requests("PUT", "v3/rooms/*/send/m.room.message/*").last?.body)
        return try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    }

    @Test func aTextIsMarkdown_andItsIdIsPrinted() async throws {
        let scene = try await MatrixScene()
        let (status, run) = try await scene.matrix("send", "!r:hs", "hello **all**")
        #expect(status == 0)
        #expect(run.output == ["$sent"])
        let content = try sent(scene)
        #expect(content["msgtype"] as? String == "m.text")
        #expect(content["body"] as? String == "hello **all**")
        #expect(content["formatted_body"] as? String == "hello <strong>all</strong>")
    }

    @Test func theOtherFormsOfAMessage() async throws {
        let scene = try await MatrixScene()
        scene.server.on("GET", "v3/directory/room/*", .json(##"{"room_id":"!x:hs"}"##))
        _ = try await scene.matrix("send", "#lobby:hs", "-", "--notice", input: "two\nlines\n")
        #expect(try sent(scene)["body"] as? String == "two\nlines")
        #expect(try sent(scene)["msgtype"] as? String == "m.notice")
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").map { $0.path[4] } == ["!x:hs"])
        _ = try await scene.matrix("send", "!r:hs", "<p>a &lt; b</p><p><b>c</b></p>", "--html", "--emote")
        #expect(try sent(scene)["body"] as? String == "a < b\nc")
        #expect(try sent(scene)["formatted_body"] as? String == "<p>a &lt; b</p><p><b>c</b></p>")
        #expect(try sent(scene)["msgtype"] as? String == "m.emote")
    }

    @Test func answersAndEditsPointToTheirMessage() async throws {
        let scene = try await MatrixScene()
        scene.server.on("GET", "v3/rooms/*/event/*") { request in
            switch request.path.last {
            case "$theirs": .json(MatrixScene.message("$theirs", "question"))
            case "$mine": .json(MatrixScene.message("$mine", "x", sender: "@alice:hs"))
            default: .error(404, "M_NOT_FOUND")
            }
        }
        #expect(try await scene.matrix("send", "!r:hs", "answer", "--reply-to", "$theirs").status == 0)
        let relation = try sent(scene)["m.relates_to"] as? [String: Any]
        #expect((relation?["m.in_reply_to"] as? [String: Any])?["event_id"] as? String == "$theirs")
        #expect(try await scene.matrix("send", "!r:hs", "better", "--edit", "$mine").status == 0)
        #expect((try sent(scene)["m.new_content"] as? [String: Any])?["body"] as? String == "better")
        let count = scene.server.requests("PUT", "v3/rooms/*/send/*/*").count
        #expect(try await scene.matrix("send", "!r:hs", "worse", "--edit", "$theirs").status == 65)
        #expect(try await scene.matrix("send", "!r:hs", "x", "--edit", "$unknown").status == 65)
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").count == count)
    }

    @Test(.rule("R15")) func nothingGoesIntoAnEncryptedRoomInTheClear() async throws {
        let scene = try await MatrixScene()
        // No sync reports the encryption: only an explicit request does.
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: []))
        scene.server.on(
            "GET", "v3/rooms/*/state/m.room.encryption/**", .json(#"{"algorithm":"m.megolm.v1.aes-sha2"}"#))
        scene.server.on("GET", "v3/rooms/*/state/m.room.encryption", .json(#"{"algorithm":"m.megolm.v1.aes-sha2"}"#))
        for arguments in [["send", "!r:hs", "x"], ["upload", "/etc/hostname", "--room", "!r:hs"]] {
            let run = try scene.run(["matrix"] + arguments)
            #expect(await run.status() != 0 && !run.errors.isEmpty)
        }
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
        #expect(scene.server.requests("POST", "/_matrix/media/v3/upload").isEmpty)
    }

    @Test(.rule("R15")) func aHomeserverCannotSwitchEncryptionOff() async throws {
        let scene = try await MatrixScene()
        let encryption = #"""
            {"type":"m.room.encryption","event_id":"$e","sender":"@b:hs","state_key":"",
            "content":{"algorithm":"m.megolm.v1.aes-sha2"}}
            """#
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [encryption]))
        #expect(try await scene.matrix("rooms").status == 0)
        // It has reported that the room is encrypted, and denies it now.
        scene.server.on("GET", "v3/rooms/*/state/m.room.encryption/**", .error(404, "M_NOT_FOUND"))
        scene.server.on("GET", "v3/rooms/*/state/m.room.encryption", .error(404, "M_NOT_FOUND"))
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        for arguments in [["send", "!r:hs", "x"], ["upload", "/etc/hostname", "--room", "!r:hs"]] {
            #expect(await (try scene.run(["matrix"] + arguments)).status() != 0)
        }
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
        #expect(scene.server.requests("POST", "/_matrix/media/v3/upload").isEmpty)
    }

    @Test func aRoomThatWeAreNotInIsStatus77_andItsServersWordsCannotDriveTheTerminal() async throws {
        let scene = try await MatrixScene()
        scene.server.on(
            "PUT", "v3/rooms/*/send/*/*", .json(#"{"errcode":"M_FORBIDDEN","error":"no\u001b[31m"}"#, status: 403))
        let (status, run) = try await scene.matrix("send", "!r:hs", "x")
        #expect(status == 77)
        #expect(run.errors == ["error: no\u{FFFD}[31m (M_FORBIDDEN)"])
    }

    @Test func namesCannotTurnALineRound() {
        let (hostile, harmless) = ("a\u{202E}b\u{2066}c\u{2028}d", "👩‍👩‍👧 e\u{301} ع")
        #expect(TerminalText(hostile).text == #"a\u{202E}b\u{2066}c\u{2028}d"#)
        #expect(TerminalText(harmless).text == harmless)
    }

    @Test func aPipeGetsNamesThatCanBeGivenBack() {
        let name = TerminalText("a\u{202E}b\u{2066}c")
        #expect(name.forPipes == "a\u{202E}b\u{2066}c")
        #expect(
            ("\(name) and \("\u{200F}\n\u{1B}")" as TerminalText).forPipes
                == "a\u{202E}b\u{2066}c and \u{200F}\\n\\u{1B}")
        #expect(TerminalText("ab").painted(1).forPipes == TerminalText("ab").painted(1).text)
    }

    // MARK: Other commands

    @Test func messagesComeOldestFirst_overPages_asTheyReadNow() async throws {
        let scene = try await MatrixScene()
        let edited = MatrixScene.message("$2", "old").replacingOccurrences(
            of: #""content""#,
            with: #""unsigned":{"m.relations":{"m.replace":{"content":{"m.new_content":{"body":"new"}}}}},"content""#)
        let edit = MatrixScene.message("$3", "* new").replacingOccurrences(
            of: #""msgtype""#, with: #""m.relates_to":{"rel_type":"m.replace","event_id":"$2"},"msgtype""#)
        scene.server.on("GET", "v3/rooms/*/messages") { request in
            request.parameter("from") == nil
                ? .json(#"{"start":"a","end":"b","chunk":[\#(edit),\#(edited)]}"#)
                : .json(#"{"start":"b","chunk":[\#(MatrixScene.message("$1", "first"))]}"#)
        }
        scene.server.on(
            "GET", "v3/rooms/*/joined_members", .json(#"{"joined":{"@bob:hs":{"display_name":"Bob"}}}"#))
        let (status, run) = try await scene.matrix("messages", "!r:hs")
        #expect(status == 0)
        #expect(run.output.map { $0.dropFirst(18) } == ["$1  Bob  first", "$2  Bob  new (edited)"])
        let json = try await scene.matrix("messages", "!r:hs", "--json", "--limit", "1").run.objects
        #expect(json.map { $0["event_id"] as? String } == ["$2"])
        #expect(json.first?["body"] as? String == "new")
        #expect(json.first?["time"] as? String == "2023-11-14T22:13:20.000Z")
    }

    @Test func aHistoryOfEmptyPagesComesToAnEnd() async throws {
        let scene = try await MatrixScene()
        let pages = Lock(0)
        scene.server.on("GET", "v3/rooms/*/messages") { _ in
            let page = pages.withLock { pages in
                pages += 1
                return pages
            }
            // The pages end so that the test does.
            return .json(#"{"start":"a","end":"\#(page)","chunk":[]}"#, status: page <= 2_000 ? 200 : 404)
        }
        let (status, run) = try await scene.matrix("messages", "!r:hs", "--json")
        #expect(status == 69)
        #expect(run.errors.contains { $0.contains("100 pages without a message") })
        #expect(pages.withLock { $0 } == 100)
    }

    @Test func aRoomIsCreatedAsAsked() async throws {
        let scene = try await MatrixScene()
        scene.server.on("POST", "v3/createRoom", .json(#"{"room_id":"!new:hs"}"#))
        scene.server.on("GET", "v3/user/*/account_data/m.direct", .json(#"{"@bob:hs":["!old:hs"]}"#))
        scene.server.on("PUT", "v3/user/*/account_data/m.direct", .ok)
        let (status, run) = try await scene.matrix(
            "create", "--name", "N", "--topic", "T", "--alias", "#lobby:hs", "--public", "--invite", "@bob:hs")
        #expect(status == 0)
        #expect(run.output == ["!new:hs"])
        let body = try #require(scene.server.requests("POST", "v3/createRoom").first?.json)
        #expect(body["room_alias_name"]?.string == "lobby")
        #expect(body["preset"]?.string == "public_chat")
        #expect(body["invite"]?.array?.compactMap(\.string) == ["@bob:hs"])
        #expect(try await scene.matrix("create", "--direct", "--invite", "@bob:hs").status == 0)
        let direct = try #require(scene.server.requests("PUT", "v3/user/*/account_data/m.direct").first?.json)
        #expect(direct["@bob:hs"]?.array?.compactMap(\.string) == ["!old:hs", "!new:hs"])
    }

    @Test func joiningLeavingAndInviting() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(Self.twoRooms)
        scene.server.on("POST", "v3/join/*", .json(#"{"room_id":"!i:hs"}"#))
        scene.server.on("POST", "v3/rooms/*/leave", .ok)
        scene.server.on("POST", "v3/rooms/*/invite") { request in
            request.json?["user_id"]?.string == "@bad:hs" ? .error(403, "M_FORBIDDEN") : .ok
        }
        for room in ["#lobby:hs", "!i:hs", "party"] {
            let (status, run) = try await scene.matrix("join", room)
            #expect(status == 0)
            #expect(run.output == ["!i:hs"])
        }
        #expect(scene.server.requests("POST", "v3/join/*").map { $0.path.last } == ["#lobby:hs", "!i:hs", "!i:hs"])
        #expect(try await scene.matrix("leave", "The lobby", "--reason", "bye").status == 0)
        #expect(scene.server.requests("POST", "v3/rooms/*/leave").first?.json?["reason"]?.string == "bye")
        let (status, run) = try await scene.matrix("invite", "!r:hs", "@bad:hs", "@bob:hs")
        #expect(status == 77)
        #expect(run.errors == ["error: @bad:hs is not invited: said by the server (M_FORBIDDEN)"])
        #expect(scene.server.requests("POST", "v3/rooms/*/invite").count == 2)
        // A broken connection does not prevent the other invitations, either.
        scene.server.on("POST", "v3/rooms/*/invite") { request in
            request.json?["user_id"]?.string == "@bad:hs" ? .page(502) : .ok
        }
        let broken = try await scene.matrix("invite", "!r:hs", "@bad:hs", "@bob:hs")
        #expect(broken.status == 69 && broken.run.errors.first?.hasPrefix("error: @bad:hs is not invited") == true)
        #expect(scene.server.requests("POST", "v3/rooms/*/invite").last?.json?["user_id"]?.string == "@bob:hs")
    }

    @Test func aReactionComesAndGoes() async throws {
        let scene = try await MatrixScene()
        #expect(try await scene.matrix("react", "!r:hs", "$e", "👍").run.output == ["$sent"])
        @Sendable func reaction(_ id: String, _ sender: String, _ key: String) -> String {
            #"""
            {"type":"m.reaction","event_id":"\#(id)","sender":"\#(sender)",
            "content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$e","key":"\#(key)"}}}
            """#
        }
        scene.server.on("GET", "v1/rooms/*/relations/*/m.annotation/m.reaction") { request in
            request.parameter("from") == nil
                ? .json(#"{"next_batch":"n","chunk":[\#(reaction("$a", "@bob:hs", "👍"))]}"#)
                : .json(#"{"chunk":[\#(reaction("$b", "@alice:hs", "x")),\#(reaction("$c", "@alice:hs", "👍"))]}"#)
        }
        scene.server.on("PUT", "v3/rooms/*/redact/*/*", .json(#"{"event_id":"$gone"}"#))
        #expect(try await scene.matrix("react", "!r:hs", "$e", "👍", "--remove").run.output == ["$gone"])
        #expect(scene.server.requests("PUT", "v3/rooms/*/redact/*/*").map { $0.path[6] } == ["$c"])
        #expect(try await scene.matrix("react", "!r:hs", "$e", "?", "--remove").status == 65)
        // The reaction exists already, so nothing is left to do.
        scene.server.on("PUT", "v3/rooms/*/send/m.reaction/*", .error(400, "M_DUPLICATE_ANNOTATION"))
        let again = try await scene.matrix("react", "!r:hs", "$e", "👍")
        #expect(again.status == 0 && again.run.output == ["$c"])
    }

    @Test func aFileIsUploadedAndSent() async throws {
        let scene = try await MatrixScene()
        scene.server.on("GET", "v1/media/config", .json(#"{"m.upload.size":100}"#))
        scene.server.on("POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://hs/abc"}"#))
        let file = scene.home.appending(path: "photo.png")
        try Data("0123456789".utf8).write(to: file)
        let (status, run) = try await scene.matrix(
            "upload", file.path, "--room", "!r:hs", "--caption", "the *view*")
        #expect(status == 0)
        #expect(run.output == ["mxc://hs/abc"])
        let upload = try #require(scene.server.requests("POST", "/_matrix/media/v3/upload").first)
        #expect(upload.field("Content-Type") == "image/png")
        #expect(upload.body == Array("0123456789".utf8))
        let content = try sent(scene)
        #expect(content["msgtype"] as? String == "m.image")
        #expect(content["filename"] as? String == "photo.png")
        #expect(content["body"] as? String == "the *view*")
        // An explicit type decides how the file is shown. The address is printed even if the message is refused.
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .error(403, "M_FORBIDDEN"))
        let refused = try await scene.matrix("upload", file.path, "--room", "!r:hs", "--type", "video/mp4")
        #expect(refused.status == 77 && refused.run.output == ["mxc://hs/abc"])
        #expect(try sent(scene)["msgtype"] as? String == "m.video")
        try Data(count: 101).write(to: file)
        #expect(try await scene.matrix("upload", file.path).status == 65)
        #expect(try await scene.matrix("upload", file.path + ".none").status == 65)
    }

    @Test func aFileIsDownloaded_butNothingIsOverwrittenNorWrittenElsewhere() async throws {
        let scene = try await MatrixScene()
        scene.server.on(
            "GET", "v1/media/download/hs/abc",
            FakeAnswer(body: Array("content".utf8)).with(
                "Content-Disposition", #"attachment; filename="../../evil.txt""#))
        let file = scene.home.appending(path: "file")
        #expect(try await scene.matrix("download", "mxc://hs/abc", file.path).status == 0)
        #expect(try String(contentsOf: file, encoding: .utf8) == "content")
        try Data("mine".utf8).write(to: file)
        let again = try await scene.matrix("download", "mxc://hs/abc", file.path)
        #expect(again.status == 65)
        #expect(again.run.errors.first?.contains("--force replaces it") == true)
        #expect(try String(contentsOf: file, encoding: .utf8) == "mine")
        #expect(try await scene.matrix("download", "mxc://hs/abc", file.path, "--force").status == 0)
        #expect(try String(contentsOf: file, encoding: .utf8) == "content")

        let folder = scene.home.appending(path: "folder")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["evil.txt", "evil 1.txt"] {
            let (_, run) = try await scene.matrix("download", "mxc://hs/abc", folder.path)
            #expect(run.output == [folder.appending(path: name).path])
        }
        #expect(try await scene.matrix("download", "mxc://hs/abc", "-").run.output == ["content"])
        let missing = scene.home.appending(path: "missing")
        #expect(try await scene.matrix("download", "mxc://hs/none", missing.path).status == 65)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scene.home.path).sorted() == [
                "file", "folder", "pusher-cli",
            ])
    }

    @Test(arguments: [
        ["send"], ["send", "!r:hs"], ["send", "!r:hs", "x", "--notice", "--emote"],
        ["send", "!r:hs", "x", "--reply-to", "$a", "--edit", "$b"], ["send", "!r:hs", "x", "--edit", "nonsense"],
        ["messages", "!r:hs", "--limit", "0"], ["create", "--direct"], ["create", "--invite", "bob"],
        ["invite", "!r:hs"], ["invite", "!r:hs", "bob"], ["react", "!r:hs", "e", "x"], ["react", "!r:hs", "$e", ""],
        ["upload"], ["upload", "x", "--caption", "c"], ["download", "http://hs/x"], ["download", "mxc://hs/../x"],
        ["push-gateway"], ["push-gateway", "--port", "70000"], ["push-gateway", "--port", "0", "--event", "e"],
        ["push-gateway", "--port", "0", "--channel", "c"], ["listen", "--count", "0"], ["listen", "a-channel"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        try await MatrixScene.expectWrongUse(arguments)
    }

    @Test func anEmptyTextIsStatus65() async throws {
        let scene = try await MatrixScene()
        #expect(try await scene.matrix("send", "!r:hs", "-", input: "\n").status == 65)
        #expect(scene.server.requests.isEmpty)
    }
}
