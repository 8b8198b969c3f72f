import Foundation
import MatrixKit
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TerminalUI
import TestSupport
import Testing

/// Replacing the kit's classes from a program, and the listings of the kit's documentation.
@MainActor @Suite(.overSockets) struct OverrideTests {
    final class OwnBubble: MXKRoomBubbleCellData {
        required init?(
            event: MXEvent, andRoomState roomState: MXRoomState?, andRoomDataSource source: MXKRoomDataSource
        ) {
            super.init(event: event, andRoomState: roomState, andRoomDataSource: source)
        }

        override var isIncoming: Bool { true }
    }

    final class OwnCell: MXKTerminalBubbleCell {
        override func lines(_ layout: MXKCellLayout) -> [TerminalLine] {
            [TerminalLine(StyledText("own cell")).truncated(to: layout.columns)]
        }
    }

    final class OwnSource: MXKRoomDataSource {
        private(set) var wasSet = 0
        override func roomDidSet() { wasSet += 1 }
    }

    final class OwnScreen: MXKRoomViewController {
        private(set) var wasReady = 0
        override func onRoomDataSourceReady() {
            wasReady += 1
            super.onRoomDataSourceReady()
        }
        override func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? { OwnCell.self }
        override func cellReuseIdentifier(for cellData: MXKCellData) -> String? { "own" }
    }

    final class OwnRecent: MXKRecentCellData {
        override var roomDisplayname: String? { "own name" }
    }

    private func started() async throws -> SessionScene {
        let scene = try await SessionScene()
        scene.script(
            Sync.answer(
                "s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1", "one"), Sync.message("$2", "two")])))
        try await scene.session.start()
        #expect(await eventually { scene.session.room(withRoomId: "!r:s") != nil })
        return scene
    }

    @Test func classesOfTheProgramAreUsed() async throws {
        let scene = try await started()
        let source = OwnSource(roomId: "!r:s", andMatrixSession: scene.session)
        source.registerCellDataClass(OwnBubble.self, forCellIdentifier: kMXKRoomBubbleCellDataIdentifier)
        let screen = OwnScreen()
        screen.displayRoom(source)
        _ = screen.draw(columns: 40, rows: 10)
        #expect(await eventually { await source.numberOfCells == 2 })
        #expect(screen.wasReady == 1 && source.wasSet == 1)
        #expect(source.cellData(at: 0) is OwnBubble)
        #expect(source.cellHeight(at: 0, withMaximumWidth: 40) == 1)
        #expect(screen.draw(columns: 40, rows: 10).text.count { $0 == "own cell" } == 2)
        #expect(screen.cellReuseIdentifier(for: try #require(source.cellData(at: 0))) == "own")
    }

    // MARK: Listings of the documentation

    @Test func aRoomIsShown() async throws {
        let mxSession = try await started().session
        let roomDataSource = MXKRoomDataSource(roomId: "!r:s", andMatrixSession: mxSession)
        let roomViewController = MXKRoomViewController()
        roomViewController.displayRoom(roomDataSource)
        let isShown = await eventually {
            let lines = await roomViewController.draw(columns: 60, rows: 12).text
            return lines.contains { $0.hasSuffix(" one") } && lines.contains { $0.hasSuffix(" two") }
                && lines.contains { $0.contains("Bob") }
        }
        #expect(isShown)
    }

    @Test func aListIsShown() async throws {
        let mxSession = try await started().session
        let recentsDataSource = MXKRecentsDataSource(matrixSession: mxSession)
        let recentListViewController = MXKRecentListViewController()
        recentListViewController.displayList(recentsDataSource)
        #expect(
            await eventually {
                await recentListViewController.draw(columns: 30, rows: 5).text.first?.contains("Bob") == true
            })
        recentsDataSource.registerCellDataClass(OwnRecent.self, forCellIdentifier: kMXKRecentCellIdentifier)
        recentsDataSource.search(withPatterns: ["nothing"])
        #expect(recentsDataSource.numberOfCells(inSection: 0) == 0)
        recentsDataSource.search(withPatterns: nil)
        #expect(recentListViewController.draw(columns: 30, rows: 5).text.first?.hasPrefix("own name") == true)
    }

    @Test func membersAreShown() async throws {
        let mxSession = try await started().session
        let memberListDataSource = MXKRoomMemberListDataSource(roomId: "!r:s", andMatrixSession: mxSession)
        let memberListViewController = MXKRoomMemberListViewController()
        memberListViewController.displayList(memberListDataSource)
        #expect(
            await eventually {
                let lines = await memberListViewController.draw(columns: 30, rows: 8).text
                return lines.contains { $0.contains("Alice") } && lines.contains { $0.contains("Bob") }
            })
    }
}
