import MatrixKit
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TerminalUI
import TestSupport
import Testing

/// Several accounts in one chat.
@MainActor @Suite(.overSockets)
struct ChatAccountsTests {
    private static func named(_ name: String) -> String {
        #"{"type":"m.room.name","event_id":"$n\#(name)","sender":"@b:s","state_key":"","origin_server_ts":1,"content":{"name":"\#(name)"}}"#
    }

    @Test func eachAccountHasItsRooms_andTheSameRoomIsOpenOnce() async throws {
        let (one, other) = (try await KitScene(), try await KitScene(user: "@z:s"))
        try await one.start(KitScene.room("!r:s", state: [Self.named("Shared")]))
        try await other.start(
            KitScene.room("!r:s", state: [Self.named("Shared")]), KitScene.room("!q:s", state: [Self.named("Quiet")]))
        let scene = ChatScene(one, other)
        #expect(await scene.shows("@a:s"))
        #expect(await scene.shows("@z:s"))
        #expect(await scene.shows("Quiet"))
        scene.chat.open("!r:s", in: other.session)
        scene.enter("/account @a:s")
        #expect(scene.chat.room.roomDataSource?.mxSession === one.session)
        scene.enter("/account z")
        #expect(scene.chat.room.roomDataSource?.mxSession === other.session)
        scene.enter("/account nobody")
        #expect(await scene.shows("nobody is not logged in."))
        #expect(scene.chat.room.inputToolbarView.textMessage == "/account nobody")
    }

    @Test func anAccountThatCannotBeUsedSaysSo_andCanBeTriedAgain() async throws {
        let one = try await KitScene()
        try await one.start(KitScene.room("!r:s", state: [Self.named("Lobby")]))
        let scene = ChatScene(one)
        var retried: [String] = []
        scene.chat.onRetryAccount = { retried.append($0) }
        scene.chat.setAccount(MXKChatAccount(userId: "@z:s", status: "in use by process 7"))
        #expect(await scene.open("Lobby", "!r:s", one))
        #expect(scene.text.last?.hasPrefix("@z:s: in use by process 7") == true)
        scene.chat.setStatus("Paused", ofAccount: "@a:s")
        #expect(scene.text.last?.hasPrefix("@a:s: Paused  @z:s: in use by process 7") == true)
        scene.enter("/account")
        #expect(await scene.shows("● @a:s  Paused"))
        scene.press(.down, .enter)
        #expect(retried == ["@z:s"])
        scene.chat.removeAccount("@z:s")
        scene.chat.setStatus(nil, ofAccount: "@a:s")
        #expect(scene.text.last?.contains("in use") == false)
    }

    @Test func logoutAsksFirst_andTakesTheRoomsAway() async throws {
        let (one, other) = (try await KitScene(), try await KitScene(user: "@z:s"))
        try await one.start(KitScene.room("!r:s", state: [Self.named("Lobby")]))
        try await other.start(KitScene.room("!q:s", state: [Self.named("Quiet")]))
        let scene = ChatScene(one, other)
        var loggedOut: [String] = []
        scene.chat.onLogout = {
            loggedOut.append($0)
            scene.chat.removeAccount($0)
        }
        #expect(await scene.shows("Quiet"))
        #expect(await scene.open("Lobby", "!r:s", one))
        scene.enter("/logout")
        scene.press(.enter)
        #expect(loggedOut == [])
        scene.enter("/logout")
        scene.press(.down, .enter)
        #expect(loggedOut == ["@a:s"])
        #expect(!scene.text.contains { $0.contains("Lobby") })
        #expect(await scene.shows("Quiet"))
    }
}
