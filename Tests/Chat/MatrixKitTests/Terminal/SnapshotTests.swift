import Foundation
import MatrixKitTerminal
import MatrixProtocol
import TerminalUI
import TestSupport
import Testing

@testable import MatrixKit

/// Snapshots of cells and screens as readable files. See ``Snapshot``.
@MainActor @Suite struct SnapshotTests {
    @Test(arguments: Snapshot.widths) func bubbles(columns: Int) throws {
        let room = try SampleRoom()
        var (text, position) = ("", 0)
        for bubble in room.script.bubbles {
            text += "\(room.names[position]):\n"
            for line in SampleRoom.lines(bubble, columns: columns) { text += Snapshot.line(line, columns) }
            position += bubble.events.count
        }
        try Snapshot.compare(text, with: "terminal/bubbles-\(columns).txt")
    }

    @Test(arguments: Snapshot.widths) func screens(columns: Int) throws {
        let room = try SampleRoom()
        let controller = MXKRoomViewController()
        controller.displayRoom(room.script.source)
        room.script.source.setState(.ready)
        let rows = 24
        var text = "at the end:\n"
        for line in controller.draw(columns: columns, rows: rows).lines { text += Snapshot.line(line, columns) }
        _ = controller.handle(.pageUp)
        text += "a page up:\n"
        for line in controller.draw(columns: columns, rows: rows).lines { text += Snapshot.line(line, columns) }
        _ = controller.handle(.key(.home, .alt))
        text += "at the beginning, in six rows:\n"
        for line in controller.draw(columns: columns, rows: 6).lines { text += Snapshot.line(line, columns) }
        try Snapshot.compare(text, with: "terminal/screens-\(columns).txt")
    }
}
