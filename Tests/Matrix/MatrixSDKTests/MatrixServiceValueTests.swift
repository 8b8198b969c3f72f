import Foundation
import LinuxCombine
import MatrixSDK
import Testing

/// Values of the service, without a service.
struct MatrixServiceValueTests {
    private func message(_ content: MatrixMessage.Content) -> MatrixMessage {
        MatrixMessage(
            id: "$e", roomId: "!r", sender: MatrixUser(id: "@ann:hs"), content: content,
            timestamp: Date(timeIntervalSince1970: 1))
    }

    @Test(
        arguments: [
            (.text("a", html: "<b>a</b>"), "a"), (.notice("b"), "b"), (.emote("c"), "c"),
            (.location("here", uri: "geo:1,2"), "here"), (.image(MatrixAttachment(fileName: "f.png")), "f.png"),
            (.file(MatrixAttachment(fileName: "f.txt", caption: "read this")), "read this"),
            (.redacted(reason: "why"), ""), (.encrypted, ""), (.unsupported(type: "m.x", body: nil), ""),
            (.unsupported(type: "m.x", body: "fallback"), "fallback"),
        ] as [(MatrixMessage.Content, String)])
    func bodyIsWhatThereIsToRead(content: MatrixMessage.Content, body: String) {
        #expect(message(content).body == body)
    }

    @Test func onlyFilesAreAttachmentsAndOnlyRedactionsRedacted() {
        let file = MatrixAttachment(url: "mxc://hs/1", fileName: "f")
        #expect(message(.video(file)).attachment == file)
        #expect(message(.text("f")).attachment == nil)
        #expect(message(.redacted(reason: nil)).isRedacted)
        #expect(!message(.audio(file)).isRedacted)
    }

    @Test func printingAMessageDoesNotShowWhatItSays() {
        let room = MatrixRoom(id: "!r", name: "Room", lastMessage: message(.text("secret words")))
        var dumped = ""
        dump(room, to: &dumped)
        #expect(!"\(room) \(message(.text("secret words"))) \(dumped)".contains("secret"))
        #expect(dumped.contains("message $e in !r"))
    }

    @Test func aRoomIsUnreadByCountOrByMark() {
        #expect(!MatrixRoom(id: "!r", name: "").isUnread)
        #expect(MatrixRoom(id: "!r", name: "", unreadCount: 1).isUnread)
        #expect(MatrixRoom(id: "!r", name: "", isMarkedUnread: true).isUnread)
    }

    @Test func namesAndCountsFallBackToWhatIsKnown() {
        #expect(MatrixUser(id: "@a:hs").name == "@a:hs")
        #expect(MatrixUser(id: "@a:hs", displayName: "Ann").name == "Ann")
        #expect(MatrixReaction(emoji: "👍", userIds: ["@a:hs", "@b:hs"]).count == 2)
        #expect(MatrixReaction(emoji: "👍", userIds: ["@a:hs"], count: 7).count == 7)
    }

    @Test(
        arguments: [.notInitialized, .notLoggedIn, .roomNotFound, .network, .sdkError("Because.")]
            as [MatrixServiceError])
    func errorsSayWhatHappened(error: MatrixServiceError) {
        #expect((error as any Error).localizedDescription == error.description)
        #expect(error.description.hasSuffix("."))
    }
}
