import Basics
import CommandKit
import TerminalUI

/// The history of this shell and its file. An unusable file is reported once, and the shell continues.
final class KeptHistory: Sendable {
    private struct State {
        var isKept = true
        var trouble: String?
        var tell: (@Sendable (String) -> Void)?
    }

    /// The lines of earlier shells.
    let lines: LineHistory

    private let file = HistoryFile()
    private let state = Lock(State())

    init() {
        do throws(CommandFailure) {
            lines = try file.read()
        } catch {
            lines = LineHistory()
            fail(error)
        }
    }

    /// - Parameter tell: Called at once if there is already an error.
    func onTrouble(_ tell: @escaping @Sendable (String) -> Void) {
        let trouble = state.withLock { state in
            state.tell = tell
            return state.trouble
        }
        if let trouble { tell(trouble) }
    }

    func keep(_ line: String) {
        guard state.withLock({ $0.isKept }) else { return }
        do throws(CommandFailure) {
            try file.add(line)
        } catch {
            fail(error)
        }
    }

    private func fail(_ failure: CommandFailure) {
        let text = "the history is not saved: \(failure.description)"
        let tell = state.withLock { state in
            state.isKept = false
            state.trouble = text
            return state.tell
        }
        tell?(text)
    }
}
