import Basics
import CommandKit
import Foundation
import TerminalUI

/// An interactive terminal: reads keys, and keeps the prompt below all output.
final class ShellConsole: Sendable {
    private struct State {
        var editor: LineEditor
        /// Whether the console controls the terminal.
        var isOpen = false
        /// The number of columns before the cursor in the prompt's row; `nil` while no prompt is shown.
        var cursor: Int?
    }

    private static let prompt = "pusher> "
    private static let maximumListed = 200

    /// The entered lines, until the user leaves.
    let lines: AsyncStream<String>

    private let entered: AsyncStream<String>.Continuation
    private let vocabulary: @Sendable () -> ShellVocabulary
    private let keeps: @Sendable (String) -> Void
    private let reader = TerminalReader(STDIN_FILENO)
    private let state: Lock<State>

    /// - Parameters:
    ///   - vocabulary: Returns the words for completion with Tab.
    ///   - keeps: Called with each entered line, for the history.
    init(
        history: LineHistory, vocabulary: @escaping @Sendable () -> ShellVocabulary,
        keeps: @escaping @Sendable (String) -> Void
    ) {
        state = Lock(State(editor: LineEditor(history: history)))
        (lines, entered) = AsyncStream.makeStream(of: String.self)
        self.vocabulary = vocabulary
        self.keeps = keeps
    }

    /// Whether standard input and at least one output are a terminal that supports moving the cursor.
    static var isThere: Bool {
        isatty(STDIN_FILENO) == 1 && (isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
            && Environment["TERM"] != "dumb"
    }

    // MARK: Life cycle

    func open() throws(CommandFailure) {
        do throws(TerminalError) {
            try reader.open { [weak self] event in self?.received(event) }
        } catch {
            throw CommandFailure(.unavailable, error.description)
        }
        show()
    }

    /// Ends the lines and restores the terminal, even if output is blocked.
    func leave() {
        reader.close()
        entered.finish()
    }

    func close() {
        hide()
        leave()
    }

    private func show() {
        state.withLock { state in
            state.isOpen = true
            write("\u{1B}[?2004h")  // enables bracketed paste
            paint(&state)
        }
    }

    private func hide() {
        state.withLock { state in
            guard state.isOpen else { return }
            erase(&state)
            write("\u{1B}[?2004l")
            state.isOpen = false
        }
    }

    // MARK: Printing

    /// Removes the prompt, prints, and restores it.
    func makingWay(_ print: () -> Void) {
        state.withLock { state in
            erase(&state)
            print()
            paint(&state)
        }
    }

    private func erase(_ state: inout State) {
        if let code = Self.erasing(&state) { write(code) }
    }

    /// Returns the codes that erase the prompt. A terminal that has become narrower wraps it into several rows.
    private static func erasing(_ state: inout State) -> String? {
        guard let cursor = state.cursor else { return nil }
        state.cursor = nil
        let rows = cursor / TerminalSize(of: STDIN_FILENO).columns
        return "\r" + (rows > 0 ? "\u{1B}[\(rows)A" : "") + "\u{1B}[J"
    }

    private func paint(_ state: inout State) {
        guard state.isOpen else { return }
        let editor = state.editor
        let view = LineView(
            prompt: editor.searchPrompt ?? Self.prompt, before: editor.before, after: editor.after,
            columns: TerminalSize(of: STDIN_FILENO).columns)
        let code = Self.erasing(&state) ?? "\r"
        write(code + view.text + "\r" + (view.cursor > 0 ? "\u{1B}[\(view.cursor)C" : ""))
        state.cursor = view.cursor
    }

    /// Leaves a line on the screen as it was entered, and moves to the next one.
    private func leaveBehind(_ line: TerminalText, _ state: inout State) {
        write((Self.erasing(&state) ?? "\r") + Self.prompt + line.text + "\n")
    }

    private func write(_ code: String) {
        if StandardOutput.isTerminal {
            _ = StandardOutput.write(code.utf8)
        } else {
            StandardError.writeToTerminal(code)
        }
    }

    // MARK: Keys

    private func received(_ event: TerminalReader.Event) {
        switch event {
        case .input(.resize): state.withLock { paint(&$0) }
        case .input(let key): handle(key)
        case .stopping: hide()
        case .continued: show()
        case .gone: entered.finish()
        }
    }

    private func handle(_ key: TerminalInput) {
        // Fetched without the lock, because printing waits for output while other locks are held.
        let known = key == .tab ? vocabulary() : ShellVocabulary()
        let effect = state.withLock { state in
            guard state.isOpen else { return LineEditor.Effect.refused }
            let typed = state.editor.line
            let effect = state.editor.handle(key, complete: known.complete)
            carryOut(effect, typed: typed, &state)
            return effect
        }
        switch effect {
        case .entered(let line):
            keeps(line)
            entered.yield(line)
        case .ended: entered.finish()
        case .suspended: reader.suspend()
        case .edited, .dropped, .warned, .cleared, .listed, .refused: break
        }
    }

    private func carryOut(_ effect: LineEditor.Effect, typed: String, _ state: inout State) {
        switch effect {
        case .edited, .ended, .suspended: break
        case .entered(let line): leaveBehind(TerminalText(line), &state)
        case .dropped: leaveBehind("\(typed)^C", &state)
        case .warned: leaveBehind("^C\nPress Ctrl-C again to leave.", &state)
        case .cleared:
            state.cursor = nil
            write("\u{1B}[H\u{1B}[2J")
        case .listed(let words):
            leaveBehind(TerminalText(typed), &state)
            list(words)
        case .refused: write("\u{7}")  // a search may have ended nevertheless
        }
        paint(&state)
    }

    private func list(_ words: [String]) {
        let columns = TerminalSize(of: STDIN_FILENO).columns
        for line in ColumnLayout.grid(words.prefix(Self.maximumListed).map { TerminalText($0) }, width: columns) {
            write(line.text + "\n")
        }
        let rest = words.count - Self.maximumListed
        if rest > 0 { write("and \(rest) more\n") }
    }
}
