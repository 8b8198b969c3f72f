import Basics
import Foundation
import TerminalUI

/// One line on a terminal's standard error that is written over and over; nothing anywhere else.
///
/// It makes way for whatever else is written.
package enum StatusLine {
    private struct State {
        /// Whether something stands there now.
        var isWritten = false
        var wait: Wait?
        /// Whether progress is shown in its place.
        var hasProgress = false
        /// Writes to somewhere else that are under way.
        var writes = 0
        var isOver = false
    }

    /// What the user is waiting for.
    private struct Wait {
        let what: TerminalText
        var reason: TerminalText?
        /// Before its display begins to count seconds.
        var start: ContinuousClock.Instant
        let display: Task<Void, Never>

        var text: TerminalText {
            let reason: TerminalText = reason.map { " (\($0))" } ?? ""
            return "Waiting \(Int(age / .seconds(1))) s for \(what)\(reason)"
        }

        var age: Duration { start.duration(to: .now) }
    }

    package static let isShown = isatty(2) == 1 && Environment["TERM"] != "dumb"

    /// Held while something is written, so that nothing is drawn in the middle of it.
    private static let state = Lock(State())

    /// Ends the wait while somebody types, and begins it anew afterwards.
    package static func pausing<Result>(_ work: () throws(CommandFailure) -> Result) throws(CommandFailure) -> Result {
        let what = state.withLock { $0.wait?.what }
        endWait()
        defer { if let what { wait(for: what) } }
        return try work()
    }

    /// Shows progress in the place of a wait, until ``erase()``.
    package static func show(_ text: TerminalText) {
        state.withLock { state in
            state.hasProgress = true
            draw(text, &state)
        }
    }

    /// Erases progress; a wait begins anew.
    package static func erase() {
        state.withLock { state in
            state.hasProgress = false
            state.wait?.start = .now
            makeWay(&state)
        }
    }

    /// Erases the line, and draws nothing any more.
    package static func end() {
        state.withLock { state in
            endWait(&state)
            makeWay(&state)
            state.isOver = true
        }
    }

    /// Writes something else in the place of the line; a wait comes back by itself.
    package static func makingWay<Result: Sendable>(_ write: () -> Result) -> Result {
        state.withLock { state in
            makeWay(&state)
            return write()
        }
    }

    /// Draws nothing while something is written elsewhere: whatever reads that may be slow, and may have the terminal.
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

    /// What does not fit is cut off: a second row would stay when the line is erased. Nothing stands in the last column, after
    /// which some terminals begin a row.
    private static func draw(_ text: TerminalText, _ state: inout State) {
        guard isShown, !state.isOver, state.writes == 0 else { return }
        state.isWritten = true
        let row = text.cut(to: TerminalSize(of: 2).columns - 1)
        StandardError.writeToTerminal("\r\u{1B}[K\(row.text)")
    }

    // MARK: Waiting

    /// Says what is waited for, from the first second on, until something is shown instead or ``endWait()``.
    ///
    /// - Parameter what: `the answer of 127.0.0.1:6001`.
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

    /// Says what is waited for while the work is under way.
    package static func waiting<Value, Failure: Error>(
        for what: TerminalText, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        wait(for: what)
        defer { endWait() }
        return try await work()
    }

    /// Says why it takes long, such as the reason of the last failure; nil takes that back.
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
