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
