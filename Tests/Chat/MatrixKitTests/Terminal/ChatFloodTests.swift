import MatrixKitTerminal
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixKit

/// More messages arrive than anyone reads.
@MainActor @Suite(.overSockets) struct ChatFloodTests {
    private static let (syncs, events) = (10, 500)

    /// An hour apart, so that each gets a bubble.
    private static func messages(_ sync: Int) -> [String] {
        (0..<events).map { index in
            let number = sync * events + index
            return KitScene.message("$\(number)", "flood \(number)", ts: 1_700_000_000_000 + number * 3_600_000)
        }
    }

    @Test func theNewestBubblesAreKept_andTheStoreLacksNothing() async throws {
        let kit = try await KitScene()
        kit.server.on("POST", "v3/rooms/*/read_markers", .ok)
        let name = #"{"type":"m.room.name","event_id":"$n","sender":"@a:s","state_key":"","content":{"name":"Lobby"}}"#
        try await kit.start(
            KitScene.room("!r:s", state: [name], timeline: [KitScene.message("$first", "before", ts: 1)]))
        let scene = ChatScene(kit)
        #expect(await scene.open("Lobby", "!r:s", kit))
        #expect(await scene.shows("before"))
        let source = try #require(scene.chat.room.roomDataSource)
        var most = 0
        await kit.next(
            (0..<Self.syncs).map { sync in
                let room = KitScene.room("!r:s", timeline: Self.messages(sync))
                return #"{"next_batch":"f\#(sync)","rooms":{"join":{\#(room)}}}"#
            })
        let last = "flood \(Self.syncs * Self.events - 1)"
        #expect(
            await eventually {
                await MainActor.run {
                    most = max(most, source.numberOfCells)
                    return scene.text.contains { $0.contains(last) }
                }
            })
        #expect(most > 250)
        #expect(most <= 1250)
        let room = try #require(kit.session.room(withRoomId: "!r:s"))
        #expect(try room.storedMessages(limit: 2 * Self.syncs * Self.events).count == Self.syncs * Self.events + 1)
    }
}
