import Foundation
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TerminalUI
import TestSupport
import Testing

@testable import MatrixKit

/// Snapshots of the whole chat, and of its lists alone, as readable files: see ``Snapshot``.
@MainActor @Suite(.overSockets)
struct ChatSnapshotTests {
    /// Saturday 21 November 2020, 9:00 UTC.
    private static let morning = 1_605_949_200_000

    private static func event(
        _ type: String, _ id: String, _ sender: String, minute: Int, _ content: String, key: String? = nil
    ) -> String {
        let key = key.map { #""state_key":"\#($0)","# } ?? ""
        return
            #"{"type":"\#(type)","event_id":"\#(id)",\#(key)"sender":"\#(sender)","origin_server_ts":\#(morning + minute * 60_000),"content":\#(content)}"#
    }

    private static func says(
        _ id: String, _ sender: String, minute: Int, _ body: String, relation: String? = nil
    ) -> String {
        let relation = relation.map { #","m.relates_to":\#($0)"# } ?? ""
        return event(
            "m.room.message", id, sender, minute: minute, #"{"msgtype":"m.text","body":"\#(body)"\#(relation)}"#)
    }

    private static func member(_ user: String, _ name: String, membership: String = "join") -> String {
        event(
            "m.room.member", "$m\(user)\(membership)", user, minute: 0,
            #"{"membership":"\#(membership)","displayname":"\#(name)"}"#, key: user)
    }

    private static func named(_ name: String) -> String {
        event("m.room.name", "$n\(name.unicodeScalars.count)", "@b:s", minute: 0, #"{"name":"\#(name)"}"#, key: "")
    }

    private static func room(
        _ id: String, _ state: [String], _ timeline: [String], unread: (count: Int, mentions: Int) = (0, 0),
        ephemeral: [String] = []
    ) -> String {
        #""\#(id)":{"state":{"events":[\#(state.joined(separator: ","))]},"#
            + #""timeline":{"limited":false,"events":[\#(timeline.joined(separator: ","))]},"#
            + #""ephemeral":{"events":[\#(ephemeral.joined(separator: ","))]},"#
            + #""unread_notifications":{"notification_count":\#(unread.count),"highlight_count":\#(unread.mentions)}}"#
    }

    private static let timeline: [String] = [
        says("$1", "@b:s", minute: 1, "Has anybody seen the build? It is red since yesterday."),
        says(
            "$2", "@c:s", minute: 2, "It was green on my side 👩‍👩‍👧 ❤️ 🇩🇪",
            relation: #"{"m.in_reply_to":{"event_id":"$1"}}"#),
        says("$3", "@a:s", minute: 3, "I looka at it"),
        event(
            "m.room.message", "$4", "@a:s", minute: 4,
            #"{"msgtype":"m.text","body":"* I look at it","m.new_content":{"msgtype":"m.text","body":"I look at it"},"m.relates_to":{"rel_type":"m.replace","event_id":"$3"}}"#
        ),
        event(
            "m.reaction", "$5", "@b:s", minute: 4,
            #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"$3","key":"👍🏽"}}"#),
        event(
            "m.reaction", "$6", "@c:s", minute: 4,
            #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"$3","key":"👍🏽"}}"#),
        event(
            "m.reaction", "$7", "@a:s", minute: 4,
            #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"$3","key":"🎉"}}"#),
        root,
        says(
            "$9", "@b:s", minute: 6, "in the thread: ą́ e\u{301}galement",
            relation: #"{"rel_type":"m.thread","event_id":"$8"}"#),
        says("$10", "@c:s", minute: 7, "and another", relation: #"{"rel_type":"m.thread","event_id":"$8"}"#),
        says("$11", "@e:s", minute: 8, "x" + String(repeating: "abcdefghij", count: 7) + " end"),
        event(
            "m.room.message", "$12", "@b:s", minute: 9,
            #"{"msgtype":"m.image","body":"the plan","filename":"plan.png","url":"mxc://s/i","info":{"w":640,"h":480,"size":81234,"mimetype":"image/png"}}"#
        ),
        says("$13", "@a:s", minute: 70, "Thanks!"),
    ]

    /// The root of the thread.
    private static let root = says("$8", "@d:s", minute: 5, "日本語の文章は空白なしで折り返します。漢字とかなの幅は二つ分です。")

    private static let receipts =
        #"{"type":"m.receipt","content":{"$13":{"m.read":{"@b:s":{"ts":1},"@c:s":{"ts":2}}}}}"#

    private static let people = [
        member("@a:s", "Alice"), member("@b:s", "Bob 🏳️‍🌈"), member("@c:s", "Carol Przybyszewska-Wojciechowska"),
        member("@d:s", "山田太郎"), member("@e:s", "z\u{301}\u{301}algo"), member("@f:s", "Frank", membership: "invite"),
        event(
            "m.room.power_levels", "$p", "@b:s", minute: 0, #"{"users":{"@b:s":100,"@c:s":50}}"#, key: ""),
    ]

    /// A chat with rooms of every kind, one of them open.
    private static func started() async throws -> (KitScene, ChatScene) {
        let kit = try await KitScene()
        kit.server.on("POST", "v3/rooms/*/read_markers", .ok)
        kit.server.on("POST", "v3/rooms/*/receipt/*/*", .ok)
        kit.server.on("GET", "v1/rooms/*/relations/*/*", .json(#"{"chunk":[]}"#))
        kit.server.on("GET", "v3/rooms/*/event/*", .json(root))
        func quiet(_ id: String, _ name: String, unread: (Int, Int) = (0, 0), minute: Int) -> String {
            room(id, [named(name)], [says("$\(id)", "@b:s", minute: minute, "…")], unread: unread)
        }
        try await kit.start(
            room("!r:s", [named("Lobby")] + people, timeline, ephemeral: [receipts]),
            quiet("!f:s", "👩‍👩‍👧 Family", unread: (3, 0), minute: 60),
            quiet("!j:s", "日本語を話す人のための部屋です", unread: (12, 2), minute: 50),
            quiet("!l:s", "A room with a name that no list has room for", unread: (1234, 0), minute: 40),
            quiet("!q:s", "Quiet", minute: 30))
        let scene = ChatScene(kit)
        let png = try PictureTests.png()
        scene.chat.room.thumbnails = ThumbnailStore { _ in png }
        scene.chat.allowsImages = true
        #expect(await scene.shows("Quiet"))
        scene.chat.open("!r:s", in: kit.session)
        scene.chat.room.roomDataSource?.eventFormatter = BubbleScript.formatter(kit.session)
        #expect(await scene.shows("Thanks!"))
        #expect(await scene.shows("This is the beginning."))
        #expect(await scene.shows("6 members"))
        #expect(await scene.shows("▀"))
        return (kit, scene)
    }

    @Test(arguments: Snapshot.widths) func chat(columns: Int) async throws {
        let (kit, scene) = try await Self.started()
        var text = Snapshot.text("a room", scene.chat.draw(columns: columns, rows: 30))
        scene.press(
            .key(.up, .alt), .key(.up, .alt), .control("r"),
            .text("What 日本 is this? " + String(repeating: "x", count: 50)))
        text += Snapshot.text("a reply is written", scene.chat.draw(columns: columns, rows: 16))
        scene.press(.escape, .control("c"), .text("/to"), .tab)
        text += Snapshot.text("a command is completed", scene.chat.draw(columns: columns, rows: 12))
        scene.press(.control("c"))
        scene.chat.room.displayThread(rootId: "$8")
        scene.chat.room.roomDataSource?.eventFormatter = BubbleScript.formatter(kit.session)
        #expect(await scene.shows("This is the beginning."))
        text += Snapshot.text("a thread", scene.chat.draw(columns: columns, rows: 12))
        try Snapshot.compare(text, with: "terminal/chat-\(columns).txt")
    }

    @Test(arguments: Snapshot.widths) func lists(columns: Int) async throws {
        let (kit, scene) = try await Self.started()
        let recents = scene.chat.recents
        var text = Snapshot.text("rooms", recents.draw(columns: columns, rows: 8))
        recents.hasFocus = true
        text += Snapshot.text("rooms, too many for the rows", recents.draw(columns: columns, rows: 3))
        text += Snapshot.text("members", scene.chat.members.draw(columns: columns, rows: 9))
        scene.press(.control("k"), .text("日本"))
        text += Snapshot.text("a room is looked for", scene.chat.draw(columns: columns, rows: 8))
        scene.press(.escape, .control("t"))
        text += Snapshot.text("the members are chosen from", scene.chat.draw(columns: columns, rows: 10))
        try Snapshot.compare(text, with: "terminal/lists-\(columns).txt")
        withExtendedLifetime(kit) {}
    }
}
