import MatrixKit
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK
import TerminalUI
import TestSupport

/// A chat without a terminal: takes keys, returns text.
@MainActor
final class ChatScene {
    let chat = MXKChatViewController()
    private let columns: Int

    init(_ scenes: KitScene..., columns: Int = 110) {
        self.columns = columns
        chat.displayList(MXKRecentsDataSource(matrixSession: nil))
        for scene in scenes {
            chat.setAccount(
                MXKChatAccount(userId: scene.session.credentials?.userId ?? "", session: scene.session))
        }
    }

    func press(_ inputs: TerminalInput...) { for input in inputs { _ = chat.handle(input) } }

    /// Types a line and sends it.
    func enter(_ line: String) { press(.text(line), .enter) }

    var text: [String] { chat.draw(columns: columns, rows: 30).text }

    func shows(_ text: String) async -> Bool {
        await eventually { await self.text.contains { $0.contains(text) } }
    }

    /// Waits until the room is listed, and opens it.
    func open(_ name: String, _ roomId: String, _ scene: KitScene) async -> Bool {
        guard await shows(name) else { return false }
        chat.open(roomId, in: scene.session)
        return true
    }
}
