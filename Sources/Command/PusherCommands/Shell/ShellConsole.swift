import Basics
import CommandKit
import Foundation
import TerminalUI

/// The terminal at which somebody types: it reads keys, and keeps the prompt below everything that is printed meanwhile.
final class ShellConsole: Sendable {
    private struct State {
        var editor: LineEditor
        /// Whether the terminal is ours.
        var isOpen = false
        /// Columns before the cursor in the row of the prompt; nil while no prompt is shown.
        var cursor: Int?
    }

    private static let prompt = "pusher> "
    private static let maximumListed = 200

    /// The lines that were entered, until somebody leaves.
    let lines: AsyncStream<String>

    private let entered: AsyncStream<String>.Continuation
    private let vocabulary: @Sendable () -> ShellVocabulary
    private let keeps: @Sendable (String) -> Void
    private let reader = TerminalReader(STDIN_FILENO)
    private let state: Lock<State>

    /// - Parameters:
    ///   - vocabulary: What Tab completes to.
    ///   - keeps: Told each line that was entered, for the history.
    init(
        history: LineHistory, vocabulary: @escaping @Sendable () -> ShellVocabulary,
        keeps: @escaping @Sendable (String) -> Void
    ) {
        state = Lock(State(editor: LineEditor(history: history)))
        (lines, entered) = AsyncStream.makeStream(of: String.self)
        self.vocabulary = vocabulary
        self.keeps = keeps
    }

    /// Whether both sides of it are there: standard input, and one of the two that it writes to.
    /// One that understands the codes for moving about in a line.
    static var isThere: Bool {
        isatty(STDIN_FILENO) == 1 && (isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
            && Environment["TERM"] != "dumb"
    }

    // MARK: From beginning to end

    func open() throws(CommandFailure) {
        do throws(TerminalError) {
            try reader.open { [weak self] event in self?.received(event) }
        } catch {
            throw CommandFailure(.unavailable, error.description)
        }
        show()
    }

    /// No more lines. The terminal is as it was, even if what is printed waits for somebody.
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
            write("\u{1B}[?2004h")  // pastes come in brackets
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

    /// Takes the prompt away, prints, and shows it again as it was.
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

    /// A terminal that has become narrower has broken the row into several.
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

    /// Leaves a line behind as it was entered, and goes to the next.
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
        // Asked for without the lock, since what is printed is waited for with others held.
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
        case .refused: write("\u{7}")  // which may have ended a search all the same
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
