import Foundation
import MatrixKit
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// A session in a room, and a data source with a view.
@MainActor
final class LiveRoom: MXKDataSourceDelegate {
    let scene: SessionScene
    let source: MXKRoomDataSource
    private(set) var states: [MXKDataSourceState] = []
    private(set) var wasTold = 0

    init(timeline: [String] = [], prevBatch: String? = nil) async throws {
        scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: timeline, prevBatch: prevBatch)))
        try await scene.session.start()
        let scene = scene
        #expect(await eventually { scene.session.room(withRoomId: "!r:s") != nil })
        source = MXKRoomDataSource(roomId: "!r:s", andMatrixSession: scene.session)
        source.delegate = self
        await source.whenPrepared()
        #expect(source.state == .ready)
    }

    /// The texts, oldest first.
    var texts: [String] {
        (0..<source.numberOfCells).compactMap { source.cellData(at: $0) as? MXKRoomBubbleCellData }
            .flatMap { $0.bubbleComponents.compactMap(\.textMessage) }
    }

    var ids: [String] { (0..<source.numberOfCells).flatMap { source.cellData(at: $0)?.events.map(\.eventId) ?? [] } }

    func shows(_ texts: [String]) async -> Bool { await eventually { await self.texts == texts } }

    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? { nil }
    func cellReuseIdentifier(for cellData: MXKCellData) -> String? { nil }
    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) { wasTold += 1 }
    func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { states.append(state) }

    /// A message of the user, as in a sync.
    static func own(_ id: String, _ body: String, transaction: String) -> String {
        #"""
        {"type":"m.room.message","event_id":"\#(id)","sender":"@a:s","origin_server_ts":9,
        "content":{"msgtype":"m.text","body":"\#(body)"},"unsigned":{"transaction_id":"\#(transaction)"}}
        """#
    }
}
