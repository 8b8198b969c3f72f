import MatrixKitTerminal
import TerminalUI
import Testing

/// The chat around a room, without a session.
@MainActor
struct ChatScreenTests {
    /// Otherwise it would redraw forever.
    @Test func drawingAsksForNoMoreDrawing() {
        let chat = MXKChatViewController()
        var asked = 0
        chat.onNeedsDisplay = { asked += 1 }
        for (columns, rows) in [(120, 40), (70, 20), (40, 10), (10, 3)] {
            _ = chat.draw(columns: columns, rows: rows)
            asked = 0
            for _ in 0..<5 { _ = chat.draw(columns: columns, rows: rows) }
            #expect(asked == 0)
        }
    }

    @Test func everySizeIsDrawn() {
        let chat = MXKChatViewController()
        for columns in 1...130 {
            for rows in [1, 4, 5, 6, 24] {
                let surface = chat.draw(columns: columns, rows: rows)
                #expect(surface.columns == columns && surface.rows == rows)
                #expect(surface.lines.allSatisfy { $0.columns == columns })
            }
        }
    }

    @Test func helpIsShownAndGoes_andCtrlCLeavesTheSecondTime() {
        let chat = MXKChatViewController()
        var hasQuit = false
        chat.onQuit = { hasQuit = true }
        _ = chat.handle(.key(.function(1)))
        #expect(chat.draw(columns: 80, rows: 24).text.first == "Keys")
        _ = chat.handle(.text("x"))
        #expect(chat.draw(columns: 80, rows: 24).text.first != "Keys")
        _ = chat.handle(.control("c"))
        #expect(!hasQuit)
        _ = chat.handle(.control("c"))
        #expect(hasQuit)
    }
}
