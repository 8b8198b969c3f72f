import Foundation
import JSONBytes
import MatrixKit
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TerminalUI
import TestSupport
import Testing

/// Commands of a chat, invitations, mentions.
@MainActor @Suite(.overSockets)
struct ChatCommandTests {
    private static let name =
        #"{"type":"m.room.name","event_id":"$n","sender":"@b:s","state_key":"","origin_server_ts":1,"content":{"name":"Lobby"}}"#

    private func started(timeline: [String] = []) async throws -> (KitScene, ChatScene) {
        let kit = try await KitScene()
        kit.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$sent"}"#))
        kit.server.on("POST", "v3/rooms/*/read_markers", .ok)
        try await kit.start(
            KitScene.room(
                "!r:s",
                state: [Self.name, KitScene.member("@a:s", name: "Ann"), KitScene.member("@b:s", name: "Bob B.")],
                timeline: timeline))
        let scene = ChatScene(kit)
        #expect(await scene.open("Lobby", "!r:s", kit))
        return (kit, scene)
    }

    // MARK: Completion

    private nonisolated static func said(_ id: String, by sender: String, ts: Int) -> String {
        #"{"type":"m.room.message","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":\#(ts),"#
            + #""content":{"msgtype":"m.text","body":"hello"}}"#
    }

    @Test func anIdThatIsBegunComesBeforeANameThatImitatesIt() async throws {
        let kit = try await KitScene()
        try await kit.start(
            KitScene.room(
                "!r:s",
                state: [
                    Self.name, KitScene.member("@a:s", name: "Ann"), KitScene.member("@bob:s", name: "Robert"),
                    KitScene.member("@mallory:x", name: "Bob"), KitScene.member("@bill:s", name: "Bill"),
                ],
                timeline: [
                    Self.said("$1", by: "@bill:s", ts: 1), Self.said("$2", by: "@mallory:x", ts: 2),
                    Self.said("$3", by: "@bob:s", ts: 3), Self.said("$4", by: "@mallory:x", ts: 4),
                ]))
        let scene = ChatScene(kit)
        #expect(await scene.open("Lobby", "!r:s", kit))
        let shown = scene.chat.room.completions("@b").map(\.shown)
        #expect(shown == ["Robert  @bob:s", "Bill  @bill:s", "Bob  @mallory:x"])
        #expect(scene.chat.room.completions("b").map(\.shown).first == "Bob  @mallory:x")
    }

    /// Two members with one name: the text that is sent tells which one is meant.
    @Test func aNameThatSeveralHaveIsWrittenWithTheId() async throws {
        let kit = try await KitScene()
        try await kit.start(
            KitScene.room(
                "!r:s",
                state: [
                    Self.name, KitScene.member("@a:s", name: "Ann"), KitScene.member("@bob:s", name: "Bob"),
                    KitScene.member("@bob:x", name: "Bob"),
                ], timeline: [Self.said("$1", by: "@bob:x", ts: 1)]))
        let scene = ChatScene(kit)
        #expect(await scene.open("Lobby", "!r:s", kit))
        let found = scene.chat.room.completions("bo")
        #expect(found.map(\.insertion) == ["Bob (@bob:x): ", "Bob (@bob:s): "])
        #expect(found.map(\.shown) == ["Bob (@bob:x)", "Bob (@bob:s)"])
        #expect(found.compactMap(\.mention?.userId) == ["@bob:x", "@bob:s"])
    }

    // MARK: Leaving

    /// Whatever is open, the first closes it and the second leaves.
    @Test(arguments: ["a dialog", "help", "a completion", "text", "a search", "the rooms", "the members", "an edit"])
    func controlCTwiceLeaves(open: String) async throws {
        let mine = Self.said("$1", by: "@a:s", ts: 1)
        let (_, scene) = try await started(timeline: [mine])
        var quits = 0
        scene.chat.onQuit = { quits += 1 }
        switch open {
        case "a dialog": scene.enter("/part")
        case "help": scene.press(.key(.function(1)))
        case "a completion": scene.press(.text("/to"), .tab)
        case "text": scene.press(.text("half a thought"))
        case "a search": scene.enter("/search nothing")
        case "the rooms": scene.press(.control("k"), .text("x"))
        case "the members": scene.press(.control("t"), .text("x"))
        case "an edit": scene.press(.key(.up, .control), .text(" more"))
        default: Issue.record("unknown")
        }
        scene.press(.control("c"))
        #expect(quits == 0)
        #expect(scene.text.contains { $0.contains("Press Ctrl-C again to leave.") })
        #expect(scene.chat.dialog == nil && scene.text.first != "Keys")
        scene.press(.control("c"))
        #expect(quits == 1)
        if open == "text" { #expect(scene.chat.unsentTexts.values.contains("half a thought")) }
    }

    @Test func anotherKeyBetweenKeepsTheChat() async throws {
        let (_, scene) = try await started()
        var quits = 0
        scene.chat.onQuit = { quits += 1 }
        scene.press(.control("c"), .text("x"), .control("c"))
        #expect(quits == 0)
        scene.press(.control("c"))
        #expect(quits == 1)
    }

    // MARK: Confirmations

    @Test(arguments: [("/kick @b:s too loud", "kick", "Remove"), ("/ban @b:s too loud", "ban", "Ban")])
    func nobodyIsSentAwayWithoutAQuestion(line: String, path: String, action: String) async throws {
        let (kit, scene) = try await started()
        kit.server.on("POST", "v3/rooms/*/\(path)", .ok)
        scene.enter(line)
        #expect(await scene.shows("\(action) Bob B. (@b:s)?"))
        #expect(await scene.shows("too loud"))
        scene.press(.enter)
        #expect(kit.server.requests("POST", "v3/rooms/*/\(path)").isEmpty)
        #expect(scene.chat.room.inputToolbarView.textMessage == line)
        scene.press(.enter, .down, .enter)
        #expect(await kit.server.hasBeenAsked("POST", "v3/rooms/*/\(path)"))
        let sent = try #require(kit.server.requests("POST", "v3/rooms/*/\(path)").first?.json)
        #expect(sent["user_id"]?.string == "@b:s" && sent["reason"]?.string == "too loud")
        #expect(scene.chat.room.inputToolbarView.textMessage.isEmpty)
    }

    @Test func aMessageOfOthersIsDeletedAfterAQuestion_andOnesOwnAtOnce() async throws {
        let (kit, scene) = try await started(timeline: [
            Self.said("$mine", by: "@a:s", ts: 1), Self.said("$theirs", by: "@b:s", ts: 2),
        ])
        kit.server.on("PUT", "v3/rooms/*/redact/*/*", .json(#"{"event_id":"$x"}"#))
        #expect(await scene.shows("hello"))
        scene.press(.key(.up, .alt))
        scene.enter("/redact")
        #expect(await scene.shows("Delete the message of Bob B.?"))
        scene.press(.enter)
        #expect(kit.server.requests("PUT", "v3/rooms/*/redact/*/*").isEmpty)
        scene.press(.enter, .down, .enter)
        #expect(await kit.server.hasBeenAsked("PUT", "v3/rooms/*/redact/%24theirs/*"))
        scene.press(.key(.up, .alt), .key(.up, .alt), .key(.up, .alt))
        scene.enter("/redact")
        #expect(scene.chat.dialog == nil)
        #expect(await kit.server.hasBeenAsked("PUT", "v3/rooms/*/redact/%24mine/*"))
    }

    @Test func aFileIsSentAfterAQuestionThatSaysWhatAndWhere() async throws {
        let (kit, scene) = try await started()
        kit.server.on("GET", "v1/media/config", .json("{}"))
        kit.server.on("POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://s/1"}"#))
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "plan.bin")
        try Data(repeating: 7, count: 3000).write(to: file)
        scene.enter("/upload \(file.path) the plan")
        #expect(await scene.shows("Send plan.bin?"))
        #expect(await scene.shows("3 KB, to Lobby, which is not encrypted"))
        #expect(await scene.shows("the plan"))
        scene.press(.enter)
        #expect(kit.server.requests("POST", "/_matrix/media/v3/upload").isEmpty)
        scene.press(.enter, .down, .enter)
        #expect(await kit.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*"))
        scene.enter("/upload \(folder.url.path)")
        #expect(await scene.shows("Only files are sent, and this is a folder"))
        #expect(scene.chat.dialog == nil)
    }

    // MARK: Files

    @Test func aFileHasOneName_andWhatItsSenderSaysOfItIsMarkedAsThat() async throws {
        let image = #"""
            {"type":"m.room.message","event_id":"$i","sender":"@b:s","origin_server_ts":5,"content":{"msgtype":"m.image",
            "body":"../../.b\u202egnp.exe","url":"mxc://s/1","info":{"w":640,"h":480,"size":81000}}}
            """#
        let (_, scene) = try await started(timeline: [image])
        scene.chat.onOpenFile = { _ in }
        #expect(await scene.shows("[image] bgnp.exe  said to be 640×480, 81 KB"))
        scene.enter("/open")
        #expect(await scene.shows("Open bgnp.exe?"))
        #expect(await scene.shows("Said to be 640×480, 81 KB"))
    }

    // MARK: Mentions

    @Test func aCompletedNameIsAMention() async throws {
        let (kit, scene) = try await started()
        #expect(await scene.shows("Message"))
        scene.press(.text("bo"), .tab, .text("look"), .enter)
        #expect(await kit.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*"))
        let sent = try #require(kit.server.requests("PUT", "v3/rooms/*/send/*/*").first?.json)
        #expect(sent["body"]?.string == "Bob B.: look")
        #expect(sent["formatted_body"]?.string == #"<a href="https://matrix.to/#/@b:s">Bob B.</a>: look"#)
        #expect(sent["m.mentions"]?["user_ids"]?.array?.compactMap(\.string) == ["@b:s"])
        scene.enter("plain")
        #expect(await kit.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*", times: 2))
        #expect(kit.server.requests("PUT", "v3/rooms/*/send/*/*").last?.json?["m.mentions"]?["user_ids"] == nil)
    }

    @Test func nothingIsSaidOfNothing_andARoomIsLeftOnlyIfThatIsMeant() async throws {
        let (kit, scene) = try await started()
        kit.server.on("POST", "v3/rooms/*/leave", .ok)
        scene.enter("/me")
        #expect(await scene.shows("/me text"))
        #expect(kit.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
        scene.press(.control("u"))
        scene.enter("/part")
        #expect(await scene.shows("only an invitation brings you back"))
        scene.press(.enter)
        #expect(kit.server.requests("POST", "v3/rooms/*/leave").isEmpty)
        scene.enter("/part")
        #expect(await scene.shows("only an invitation brings you back"))
        scene.press(.key(.down), .enter)
        #expect(await kit.server.hasBeenAsked("POST", "v3/rooms/*/leave"))
    }

    @Test func anEditMentionsThoseWhomTheMessageDidNotMention() async throws {
        func mine(_ id: String, ts: Int, _ content: String) -> String {
            #"{"type":"m.room.message","event_id":"\#(id)","sender":"@a:s","origin_server_ts":\#(ts),"content":{"msgtype":"m.text",\#(content)}}"#
        }
        let pill = #"<a href=\"https://matrix.to/#/@b:s\">Bob B.</a>"#
        let (kit, scene) = try await started(timeline: [
            mine("$1", ts: 1, #""body":"hello""#),
            mine(
                "$2", ts: 2,
                #""body":"hi Bob B.","format":"org.matrix.custom.html","formatted_body":"hi \#(pill)","m.mentions":{"user_ids":["@b:s"]}"#
            ),
        ])
        #expect(await scene.shows("hi Bob B."))
        func sent(_ count: Int) async throws -> (new: [String?], all: [String?]) {
            #expect(await kit.server.hasBeenAsked("PUT", "v3/rooms/*/send/*/*", times: count))
            let json = try #require(kit.server.requests("PUT", "v3/rooms/*/send/*/*").last?.json)
            #expect(json["m.relates_to"]?["rel_type"]?.string == "m.replace")
            func users(_ content: JSONView?) -> [String?] {
                content?["m.mentions"]?["user_ids"]?.array?.map(\.string) ?? []
            }
            return (users(json), users(json["m.new_content"]))
        }
        scene.press(.key(.up, .control), .text(" again"), .enter)
        let kept = try await sent(1)
        #expect(kept.new == [] && kept.all == ["@b:s"])
        scene.press(.key(.up, .alt), .key(.up, .alt))
        scene.enter("/edit")
        scene.press(.text(" bo"), .tab, .enter)
        let added = try await sent(2)
        #expect(added.new == ["@b:s"] && added.all == ["@b:s"])
    }

    @Test func anUploadSaysHowFarItIs() async throws {
        let (kit, scene) = try await started()
        kit.server.on("GET", "v1/media/config", .json("{}"))
        kit.server.on("POST", "/_matrix/media/v3/upload", .silence)
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "large.bin")
        try Data(repeating: 7, count: 300_000).write(to: file)
        scene.enter("/upload \(file.path)")
        scene.press(.down, .enter)
        #expect(await scene.shows("large.bin"))
        #expect(await scene.shows("100 %"))
    }

    @Test func mentionsOfAllRoomsAreListed_andLeadThere() async throws {
        let kit = try await KitScene()
        let rules = #"""
            {"type":"m.push_rules","content":{"global":{"content":[{"rule_id":".m.rule.contains_user_name","default":true,
            "enabled":true,"pattern":"ann","actions":["notify",{"set_tweak":"highlight"}]}]}}}
            """#
        try await kit.start(
            KitScene.room("!q:s", timeline: [KitScene.message("$1", "nothing here", ts: 5)]),
            KitScene.room("!r:s", state: [Self.name], timeline: [KitScene.message("$2", "where is ann", ts: 9)]),
            accountData: rules)
        kit.server.on("GET", "v3/rooms/*/context/*", .json(#"{"events_before":[],"events_after":[],"state":[]}"#))
        let scene = ChatScene(kit)
        #expect(await scene.open("Lobby", "!r:s", kit))
        scene.enter("/mentions")
        #expect(await scene.shows("  where is ann"))
        #expect(!scene.text.contains { $0.contains("nothing here") })
        scene.press(.enter)
        #expect(scene.chat.room.roomDataSource?.initialEvent == "$2")
    }

    // MARK: Invitations

    @Test func enterDoesNotAcceptAnInvitation() async throws {
        let (kit, scene) = try await started()
        kit.server.on("POST", "v3/join/*", .json(#"{"room_id":"!i:s"}"#))
        kit.server.on("POST", "v3/rooms/*/leave", .ok)
        let invite = #"""
            {"next_batch":"s2","rooms":{"invite":{"!i:s":{"invite_state":{"events":[
            {"type":"m.room.member","sender":"@evil:x","state_key":"@a:s","content":{"membership":"invite"}},
            {"type":"m.room.name","sender":"@evil:x","state_key":"","content":{"name":"Prizes"}}]}}}}}
            """#
        await kit.next(invite)
        #expect(await scene.shows("Prizes"))
        scene.press(.control("k"), .text("prizes"))
        #expect(
            await eventually { await scene.text.contains { $0.contains("Lobby") && $0.hasPrefix("Lobby") } == false })
        scene.press(.enter)
        #expect(await scene.shows("From @evil:x, to you."))
        scene.press(.enter)
        #expect(scene.chat.dialog == nil)
        #expect(kit.server.requests("POST", "v3/join/*").isEmpty)
        scene.press(.escape)
        scene.enter("/invites")
        #expect(await scene.shows("Prizes  @evil:x"))
        scene.press(.enter, .down, .down, .enter)
        #expect(await kit.server.hasBeenAsked("POST", "v3/rooms/*/leave"))
        #expect(kit.server.requests("POST", "v3/join/*").isEmpty)
        scene.enter("/invites")
        scene.press(.enter, .down, .enter)
        #expect(await kit.server.hasBeenAsked("POST", "v3/join/*"))
    }

    // MARK: Commands

    @Test(
        arguments: [
            ("/create --wrong x", "Usage: /create"), ("/create --public", "Usage: /create"),
            ("/ignore bob", "Usage: /ignore"),
            ("/keys export", "Usage: /keys"), ("/keys burn x", "Usage: /keys"), ("/set theme pink", "theme is one of"),
            ("/set nothing on", "there is no setting"), ("/set server a/b", "no name of a homeserver"),
            ("/tag", "Usage: /tag"), ("/query bob", "Usage: /query"), ("/toggle all", "Usage: /toggle"),
            ("/link 3", "There is no link here."), ("/rotate", "This session does not encrypt"),
            ("/verify @b:s", "This session does not encrypt"),
        ] as [(String, String)])
    func wrongUseSaysHow_andKeepsTheText(line: String, words: String) async throws {
        let (kit, scene) = try await started()
        scene.enter(line)
        #expect(await scene.shows(words))
        #expect(scene.chat.room.inputToolbarView.textMessage == line)
        #expect(kit.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
    }

    @Test func commandsAskTheHomeserver() async throws {
        let (kit, scene) = try await started()
        kit.server.on("POST", "v3/createRoom", .error(403, "M_FORBIDDEN"))
        kit.server.on("PUT", "v3/user/*/rooms/*/tags/*", .ok)
        kit.server.on("DELETE", "v3/user/*/rooms/*/tags/*", .ok)
        kit.server.on("GET", "v3/user/*/account_data/m.ignored_user_list", .error(404, "M_NOT_FOUND"))
        kit.server.on("PUT", "v3/user/*/account_data/m.ignored_user_list", .ok)
        scene.enter("/create --encrypted Two words")
        #expect(await kit.server.hasBeenAsked("POST", "v3/createRoom"))
        let made = try #require(kit.server.requests("POST", "v3/createRoom").first?.json)
        #expect(made["name"]?.string == "Two words" && made["visibility"]?.string == "private")
        #expect(made["initial_state"]?.array?.first?["type"]?.string == "m.room.encryption")
        #expect(await scene.shows("The room was not made"))
        scene.enter("/tag favourite")
        #expect(await kit.server.hasBeenAsked("PUT", "v3/user/*/rooms/*/tags/m.favourite"))
        scene.enter("/tag -mine")
        #expect(await kit.server.hasBeenAsked("DELETE", "v3/user/*/rooms/*/tags/u.mine"))
        scene.enter("/ignore @evil:x")
        #expect(await kit.server.hasBeenAsked("PUT", "v3/user/*/account_data/m.ignored_user_list"))
        let ignored = kit.server.requests("PUT", "v3/user/*/account_data/m.ignored_user_list").first?.json
        #expect(ignored?["ignored_users"]?["@evil:x"] != nil)
        #expect(await scene.shows("@evil:x is ignored."))
    }

    @Test func publicRoomsAreFound_andJoinedWhenAskedTwice() async throws {
        let (kit, scene) = try await started()
        let rooms = #"""
            {"chunk":[{"room_id":"!p:s","name":"Plaza","topic":"All of us","canonical_alias":"#plaza:s","num_joined_members":4,
            "world_readable":false,"guest_can_join":false}]}
            """#
        kit.server.on("GET", "v3/publicRooms", .json(rooms))
        kit.server.on("POST", "v3/publicRooms", .json(rooms))
        kit.server.on("POST", "v3/join/*", .json(#"{"room_id":"!p:s"}"#))
        scene.enter("/rooms")
        #expect(await scene.shows("Plaza"))
        scene.press(.enter)
        #expect(await scene.shows("All of us"))
        scene.press(.enter)
        #expect(scene.chat.dialog == nil && kit.server.requests("POST", "v3/join/*").isEmpty)
        scene.enter("/rooms pla")
        #expect(await scene.shows("Plaza"))
        #expect(await kit.server.hasBeenAsked("POST", "v3/publicRooms"))
        let filter = kit.server.requests("POST", "v3/publicRooms").first?.json?["filter"]
        #expect(filter?["generic_search_term"]?.string == "pla")
        scene.press(.enter, .down, .enter)
        #expect(await kit.server.hasBeenAsked("POST", "v3/join/*"))
    }

    // MARK: Members and links

    @Test func aMemberCanBeMentionedAndKickedAfterAQuestion() async throws {
        let (kit, scene) = try await started()
        kit.server.on("POST", "v3/rooms/*/kick", .ok)
        #expect(await scene.shows("2 members"))
        scene.press(.control("t"), .text("bob"), .enter, .enter)
        #expect(scene.chat.room.inputToolbarView.textMessage == "Bob B.: ")
        scene.press(.control("c"), .control("t"), .enter, .down, .down, .down, .down, .enter)
        #expect(await scene.shows("Remove Bob B.?"))
        scene.press(.enter)
        #expect(kit.server.requests("POST", "v3/rooms/*/kick").isEmpty)
        scene.press(.enter, .down, .down, .down, .down, .enter, .down, .enter)
        #expect(await kit.server.hasBeenAsked("POST", "v3/rooms/*/kick"))
        #expect(kit.server.requests("POST", "v3/rooms/*/kick").first?.json?["user_id"]?.string == "@b:s")
    }

    @Test func linksShowWhereTheyLead_andOthersAreNotOpened() async throws {
        let html = #"<a href=\"https://evil.example/\">https://good.example</a> <a href=\"javascript:x\">x</a>"#
        let message = #"""
            {"type":"m.room.message","event_id":"$l","sender":"@b:s","origin_server_ts":5,"content":{"msgtype":"m.text",
            "body":"x","format":"org.matrix.custom.html","formatted_body":"\#(html)"}}
            """#
        let (_, scene) = try await started(timeline: [message])
        var opened: [URL] = []
        scene.chat.onOpenLink = { opened.append($0) }
        #expect(await scene.shows("https://good.example"))
        scene.enter("/links")
        #expect(scene.text.contains { $0.contains("[1] https://good.example → https://evil.example/") })
        #expect(!scene.text.contains { $0.contains("[2]") })
        scene.press(.escape)
        scene.enter("/link 1")
        scene.press(.enter)
        #expect(opened == [])
        scene.enter("/link 1")
        scene.press(.down, .enter)
        #expect(await eventually { await MainActor.run { opened.map(\.absoluteString) == ["https://evil.example/"] } })
        var copied: [String] = []
        scene.chat.onCopy = { copied.append($0) }
        scene.press(.alt("c"))
        #expect(copied == ["https://good.example x"])
    }

    // MARK: Lists

    @Test func aRoomMarkedAsUnreadIsListed_andNotAfterItWasOpened() async throws {
        let (kit, scene) = try await started()
        kit.server.on("PUT", "v3/user/*/rooms/*/account_data/m.marked_unread", .ok)
        scene.enter("/unread")
        #expect(await kit.server.hasBeenAsked("PUT", "v3/user/*/rooms/*/account_data/m.marked_unread"))
        let marked = #"{"type":"m.marked_unread","content":{"unread":true}}"#
        await kit.next(
            #"{"next_batch":"s2","rooms":{"join":{"!r:s":{"account_data":{"events":[\#(marked)]}}}}}"#)
        #expect(await eventually { kit.session.room(withRoomId: "!r:s")?.summary.isMarkedUnread == true })
        #expect(await scene.shows("•"))
        scene.enter("/unread list")
        #expect(await scene.shows("Unread rooms"))
        scene.press(.enter)
        #expect(await kit.server.hasBeenAsked("PUT", "v3/user/*/rooms/*/account_data/m.marked_unread", times: 2))
        let last = kit.server.requests("PUT", "v3/user/*/rooms/*/account_data/m.marked_unread").last
        #expect(last?.json?["unread"]?.bool == false)
    }

    @Test func theListIsFilteredByAKey() async throws {
        let (_, scene) = try await started()
        scene.press(.alt("u"))
        #expect(await scene.shows("Unread rooms"))
        #expect(await scene.shows("No room fits"))
        scene.press(.alt("u"), .alt("u"), .alt("u"))
        #expect(await scene.shows("Rooms"))
        #expect(scene.chat.recents.dataSource?.filter == .all)
        scene.press(.alt("o"))
        #expect(scene.chat.recents.dataSource?.order == .unreadFirst)
    }

    @Test func theEditorsTextComesBack() async throws {
        let (_, scene) = try await started()
        scene.chat.onEditor = { $0 + " and more" }
        scene.press(.text("some"), .control("e"))
        #expect(await eventually { await scene.chat.room.inputToolbarView.textMessage == "some and more" })
    }
}
