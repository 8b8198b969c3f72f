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

/// Navigation in a chat: links, threads, search results.
@MainActor @Suite(.overSockets)
struct ChatNavigationTests {
    private static func named(_ name: String) -> String {
        #"{"type":"m.room.name","event_id":"$n\#(name)","sender":"@b:s","state_key":"","origin_server_ts":1,"content":{"name":"\#(name)"}}"#
    }

    private static func linked(_ addresses: String...) -> String {
        let html = addresses.map { #"<a href=\"\#($0)\">there</a>"# }.joined(separator: " ")
        return
            #"{"type":"m.room.message","event_id":"$l","sender":"@b:s","origin_server_ts":5,"content":{"msgtype":"m.text","body":"x","format":"org.matrix.custom.html","formatted_body":"\#(html)"}}"#
    }

    private func started(_ timeline: String...) async throws -> (KitScene, ChatScene) {
        let kit = try await KitScene()
        kit.server.on("POST", "v3/rooms/*/read_markers", .ok)
        kit.server.on("POST", "v3/rooms/*/receipt/*/*", .ok)
        kit.server.on("GET", "v3/rooms/*/context/*", .json(#"{"events_before":[],"events_after":[],"state":[]}"#))
        kit.server.on("POST", "v3/join/*", .json(#"{"room_id":"!far:x"}"#))
        try await kit.start(
            KitScene.room(
                "!r:s", state: [Self.named("Lobby"), KitScene.member("@b:s", name: "Bob")], timeline: timeline),
            KitScene.room("!q:s", state: [Self.named("Other")]))
        let scene = ChatScene(kit)
        #expect(await scene.open("Lobby", "!r:s", kit))
        return (kit, scene)
    }

    // MARK: Links

    @Test(
        arguments: [
            ("https://matrix.to/#/!q:s", nil), ("https://matrix.to/#/!q:s/$e?via=s", "$e"), ("matrix:roomid/q:s", nil),
            ("matrix:roomid/q:s/e/e?via=s", "$e"),
        ] as [(String, String?)])
    func aLinkToARoomOfTheUserShowsIt(address: String, eventId: String?) async throws {
        let (kit, scene) = try await started(Self.linked(address))
        scene.chat.onOpenLink = { _ in Issue.record("the browser was asked") }
        #expect(await scene.shows("there"))
        scene.enter("/link 1")
        #expect(await eventually { await scene.chat.room.roomDataSource?.roomId == "!q:s" })
        #expect(scene.chat.room.roomDataSource?.initialEvent == eventId)
        #expect(kit.server.requests("POST", "v3/join/*").isEmpty)
    }

    @Test func anotherRoomIsJoinedWhenTheUserSaysSo() async throws {
        let (kit, scene) = try await started(Self.linked("https://matrix.to/#/%23far:x?via=x&via=y%2Ez"))
        kit.server.on("GET", "v3/directory/room/*", .json(#"{"room_id":"!far:x","servers":["x"]}"#))
        #expect(await scene.shows("there"))
        scene.enter("/link 1")
        #expect(await scene.shows("Join #far:x?"))
        #expect(await scene.shows("Through x, y.z"))
        scene.press(.enter)
        #expect(scene.chat.dialog == nil && kit.server.requests("POST", "v3/join/*").isEmpty)
        scene.enter("/link 1")
        #expect(await scene.shows("Join #far:x?"))
        scene.press(.down, .enter)
        #expect(await kit.server.hasBeenAsked("POST", "v3/join/*"))
        let query = kit.server.requests("POST", "v3/join/*").first?.query ?? []
        #expect(query.map(\.value).contains("x") && query.map(\.value).contains("y.z"))
    }

    @Test func aUserIsNotWrittenToByALinkAlone() async throws {
        let (kit, scene) = try await started(
            Self.linked("https://matrix.to/#/@z:s", "matrix:u/b:s", "mailto:a@b.c", "ftp://x.y/z"))
        #expect(await scene.shows("there"))
        scene.enter("/links")
        #expect(await scene.shows("[2]"))
        #expect(!scene.text.contains { $0.contains("[3]") })
        scene.press(.enter)
        #expect(await scene.shows("Open a chat with @z:s?"))
        scene.press(.enter)
        scene.enter("/link 2")
        #expect(await scene.shows("Mention"))
        scene.press(.escape)
        #expect(kit.server.requests("POST", "v3/createRoom").isEmpty)
    }

    // MARK: Files

    @Test func aFileIsOpenedWhenTheUserSaysSo_underASafeName() async throws {
        let file = #"""
            {"type":"m.room.message","event_id":"$f","sender":"@b:s","origin_server_ts":5,"content":{"msgtype":"m.file",
            "body":"../../-x\u001b[2J/evil\u202etxt.sh","url":"mxc://s/\#(UUID().uuidString)","info":{"mimetype":"text/plain"}}}
            """#
        let (kit, scene) = try await started(file)
        kit.server.on("GET", "v1/media/download/*/*", FakeAnswer(body: Array("what it says".utf8)))
        #expect(await scene.shows("[file]"))
        scene.enter("/open")
        #expect(await scene.shows("Files cannot be opened here"))
        var opened: [URL] = []
        scene.chat.onOpenFile = { opened.append($0) }
        scene.enter("/open")
        #expect(await scene.shows("Said to be text/plain"))
        scene.press(.enter)
        #expect(kit.server.requests("GET", "v1/media/download/*/*").isEmpty)
        scene.enter("/open")
        scene.press(.down, .enter)
        #expect(await eventually { await MainActor.run { opened.count == 1 } })
        let url = try #require(opened.first)
        #expect(try String(contentsOf: url, encoding: .utf8) == "what it says")
        let name = url.lastPathComponent
        #expect(!name.hasPrefix("-") && !name.hasPrefix(".") && name.unicodeScalars.allSatisfy { $0.value >= 0x20 })
        #expect(!name.contains("\u{202E}") && url.path.hasPrefix("/"))
    }

    // MARK: Threads

    private static let root = #"""
        {"type":"m.room.message","event_id":"$root","sender":"@b:s","origin_server_ts":5,"content":{"msgtype":"m.text",
        "body":"how it began"},"unsigned":{"m.relations":{"m.thread":{"count":3,"current_user_participated":false,
        "latest_event":{"type":"m.room.message","event_id":"$last","sender":"@b:s","origin_server_ts":9,
        "content":{"msgtype":"m.text","body":"how it ended"}}}}}}
        """#

    @Test func theThreadsOfARoomAreListed_andLeadThere() async throws {
        let (kit, scene) = try await started(KitScene.message("$1", "hello", ts: 1))
        kit.server.on(
            "GET", "v1/rooms/*/threads",
            [
                .json(#"{"chunk":[\#(Self.root)],"next_batch":"n"}"#),
                .json(#"{"chunk":[\#(Self.root)],"next_batch":"n"}"#),
            ])
        scene.enter("/threads")
        #expect(await scene.shows("Bob: how it began"))
        #expect(await scene.shows("↳ 3 replies  Bob: how it ended"))
        scene.press(.down)
        #expect(await kit.server.hasBeenAsked("GET", "v1/rooms/*/threads", times: 2))
        scene.press(.down, .enter)
        #expect(scene.chat.room.roomDataSource?.threadId == "$root")
        #expect(scene.chat.dialog == nil)
    }

    @Test func whatIsWrittenInAThreadIsKeptWithTheDrafts() async throws {
        let (kit, scene) = try await started(KitScene.message("$1", "hello", ts: 1))
        scene.press(.text("in the room"))
        scene.chat.room.displayThread(rootId: "$1")
        scene.press(.text("in the thread"))
        let kept = scene.chat.unsentTexts
        #expect(kept == ["@a:s !r:s": "in the room", "@a:s !r:s $1": "in the thread"])
        let again = ChatScene(kit)
        again.chat.unsentTexts = kept
        #expect(await again.open("Lobby", "!r:s", kit))
        #expect(again.chat.room.inputToolbarView.textMessage == "in the room")
        again.chat.room.displayThread(rootId: "$1")
        #expect(again.chat.room.inputToolbarView.textMessage == "in the thread")
        #expect(again.chat.unsentTexts == kept)
    }

    // MARK: Search

    @Test func nAndNGoFromHitToHit_untilSomethingElseIsWritten() async throws {
        let (kit, scene) = try await started(
            KitScene.message("$1", "a needle", ts: 1), KitScene.message("$2", "hay", ts: 2),
            KitScene.message("$3", "one more needle", ts: 3))
        let results = [("$3", "one more needle", 3), ("$1", "a needle", 1)].map { id, body, ts in
            #"{"rank":1,"result":\#(KitScene.message(id, body, ts: ts, room: "!r:s"))}"#
        }
        kit.server.on(
            "POST", "v3/search",
            .json(
                #"{"search_categories":{"room_events":{"count":2,"results":[\#(results.joined(separator: ","))]}}}"#))
        scene.enter("/search needle")
        #expect(await scene.shows("  one more needle"))
        scene.press(.enter)
        #expect(scene.chat.room.roomDataSource?.initialEvent == "$3")
        #expect(await scene.shows("hit 1 of 2: n next, N previous"))
        scene.press(.text("n"))
        #expect(scene.chat.room.roomDataSource?.initialEvent == "$1")
        scene.press(.text("n"))
        #expect(await scene.shows("This is the last hit."))
        scene.press(.text("N"))
        #expect(scene.chat.room.roomDataSource?.initialEvent == "$3")
        scene.press(.text("x"), .text("n"))
        #expect(scene.chat.room.inputToolbarView.textMessage == "xn")
        #expect(!scene.text.contains { $0.contains("n next") })
        scene.press(.control("c"), .text("n"))
        #expect(scene.chat.room.inputToolbarView.textMessage == "n")
    }
}
