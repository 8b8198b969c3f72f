import Basics
import Foundation
import TerminalUI

/// A line on a terminal's standard error that is updated in place; nothing if there is no terminal.
///
/// Other output replaces it.
package enum StatusLine {
    private struct State {
        /// Whether the line is on the screen.
        var isWritten = false
        var wait: Wait?
        /// Whether progress is shown instead.
        var hasProgress = false
        /// The number of pending writes to other streams.
        var writes = 0
        var isOver = false
    }

    /// The reason why the user is waiting.
    private struct Wait {
        let what: TerminalText
        var reason: TerminalText?
        /// The time before the display starts to count seconds.
        var start: ContinuousClock.Instant
        let display: Task<Void, Never>

        var text: TerminalText {
            let reason: TerminalText = reason.map { " (\($0))" } ?? ""
            return "Waiting \(Int(age / .seconds(1))) s for \(what)\(reason)"
        }

        var age: Duration { start.duration(to: .now) }
    }

    package static let isShown = isatty(2) == 1 && Environment["TERM"] != "dumb"

    /// Locked while something is written, so that nothing is drawn in between.
    private static let state = Lock(State())

    /// Suspends the wait while the user types, and restarts it afterwards.
    package static func pausing<Result>(_ work: () throws(CommandFailure) -> Result) throws(CommandFailure) -> Result {
        let what = state.withLock { $0.wait?.what }
        endWait()
        defer { if let what { wait(for: what) } }
        return try work()
    }

    /// Shows progress instead of a wait, until ``erase()``.
    package static func show(_ text: TerminalText) {
        state.withLock { state in
            state.hasProgress = true
            draw(text, &state)
        }
    }

    /// Erases progress; a wait restarts.
    package static func erase() {
        state.withLock { state in
            state.hasProgress = false
            state.wait?.start = .now
            makeWay(&state)
        }
    }

    /// Erases the line and stops drawing.
    package static func end() {
        state.withLock { state in
            endWait(&state)
            makeWay(&state)
            state.isOver = true
        }
    }

    /// Erases the line for other output; a wait reappears by itself.
    package static func makingWay<Result: Sendable>(_ write: () -> Result) -> Result {
        state.withLock { state in
            makeWay(&state)
            return write()
        }
    }

    /// Suspends drawing while something is written elsewhere, because the reader may be slow and may use the terminal.
    package static func yielding<Result>(to write: () -> Result) -> Result {
        guard isShown else { return write() }
        state.withLock { state in
            state.writes += 1
            makeWay(&state)
        }
        defer {
            state.withLock { state in
                state.writes -= 1
                state.wait?.start = .now
            }
        }
        return write()
    }

    private static func makeWay(_ state: inout State) {
        if state.isWritten { StandardError.writeToTerminal("\r\u{1B}[K") }
        state.isWritten = false
    }

    /// Draws the text, cut to one row because a second one would remain when the line is erased. The last column stays
    /// empty, because some terminals start a new row after it.
    private static func draw(_ text: TerminalText, _ state: inout State) {
        guard isShown, !state.isOver, state.writes == 0 else { return }
        state.isWritten = true
        let row = text.cut(to: TerminalSize(of: 2).columns - 1)
        StandardError.writeToTerminal("\r\u{1B}[K\(row.text)")
    }

    // MARK: Waiting

    /// Shows the subject of a wait, from the first second on, until something replaces it or ``endWait()``.
    ///
    /// - Parameter what: Such as `the answer of 127.0.0.1:6001`.
    package static func wait(for what: TerminalText) {
        guard isShown else { return }
        let start = ContinuousClock.now
        let display = Task {
            while (try? await Task.sleep(for: .seconds(1))) != nil { showWait() }
        }
        state.withLock { state in
            state.wait?.display.cancel()
            state.wait = Wait(what: what, start: start, display: display)
        }
    }

    /// Shows the subject of a wait while the work is running.
    package static func waiting<Value, Failure: Error>(
        for what: TerminalText, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        wait(for: what)
        defer { endWait() }
        return try await work()
    }

    /// Shows the reason for a long wait, such as the last failure; pass `nil` to remove it.
    package static func explainWait(_ reason: TerminalText?) {
        state.withLock { $0.wait?.reason = reason }
    }

    package static func endWait() {
        state.withLock { state in
            guard state.wait != nil else { return }
            endWait(&state)
            makeWay(&state)
        }
    }

    private static func endWait(_ state: inout State) {
        state.wait?.display.cancel()
        state.wait = nil
    }

    private static func showWait() {
        state.withLock { state in
            guard let wait = state.wait, !state.hasProgress, wait.age >= .seconds(1) else { return }
            draw(wait.text, &state)
        }
    }
}
