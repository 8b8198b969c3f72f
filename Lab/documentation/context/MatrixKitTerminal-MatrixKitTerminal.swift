import MatrixKit
import MatrixSDK
import TerminalUI

@MainActor
func article(session: MXSession, roomId: String) async throws {
    // BLOCKS
}
