import Basics
import Foundation

/// One line on a terminal's standard error that is written over and over; nothing anywhere else.
///
/// It makes way for whatever else is written.
enum StatusLine {
    private struct State {
        /// Whether something stands there now.
        var isWritten = false
        var wait: Wait?
    }

    /// What the user is waiting for.
    private struct Wait {
        let what: TerminalText
        var reason: TerminalText?
        let start = ContinuousClock.now
        let display: Task<Void, Never>
    }

    static let isShown = isatty(2) == 1

    private static let state = Lock(State())

    static func show(_ text: TerminalText) {
        endWait()
        write(text)
    }

    static func erase() {
        endWait()
        makeWay()
    }

    /// Erases the line before something else is written; a wait comes back by itself.
    static func makeWay() {
        let wasWritten = state.withLock { state in
            defer { state.isWritten = false }
            return state.isWritten
        }
        if wasWritten { StandardError.writeToTerminal("\r\u{1B}[K") }
    }

    private static func write(_ text: TerminalText) {
        guard isShown else { return }
        state.withLock { $0.isWritten = true }
        StandardError.writeToTerminal("\r\u{1B}[K\(text.text)")
    }

    // MARK: Waiting

    /// Says what is waited for, from the first second on, until something is shown instead or ``endWait()``.
    ///
    /// - Parameter what: `the answer of 127.0.0.1:6001`.
    static func wait(for what: TerminalText) {
        guard isShown else { return }
        let display = Task {
            while (try? await Task.sleep(for: .seconds(1))) != nil { showWait() }
        }
        let old = state.withLock { state in
            defer { state.wait = Wait(what: what, display: display) }
            return state.wait
        }
        old?.display.cancel()
    }

    /// Says why it takes long, such as the reason of the last failure.
    static func explainWait(_ reason: TerminalText) {
        state.withLock { $0.wait?.reason = reason }
    }

    static func endWait() {
        let wait = state.withLock { state in
            defer { state.wait = nil }
            return state.wait
        }
        guard let wait else { return }
        wait.display.cancel()
        makeWay()
    }

    private static func showWait() {
        guard let wait = state.withLock({ $0.wait }) else { return }
        let seconds = Int(wait.start.duration(to: .now) / .seconds(1))
        let reason: TerminalText = wait.reason.map { " (\($0))" } ?? ""
        write("Waiting for \(wait.what), \(seconds) s\(reason)")
    }
}
