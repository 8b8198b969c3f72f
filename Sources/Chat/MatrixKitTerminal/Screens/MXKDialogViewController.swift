import MatrixKit
public import TerminalUI

/// A question or a list in the place of the rooms: words, below them what can be chosen, and perhaps a line to write in.
///
/// Nothing is chosen but by the user, who starts at the first row: put there what does no harm.
@MainActor
open class MXKDialogViewController: MXKViewController {
    /// Something that can be chosen.
    public struct Row {
        /// How it looks; one that is too long is cut off.
        public var lines: [StyledText]
        /// Called when it is chosen. The dialog is closed by then.
        public var choose: @MainActor () -> Void

        /// A row of these lines. They must be clean.
        public init(_ lines: [StyledText], choose: @escaping @MainActor () -> Void) {
            (self.lines, self.choose) = (lines, choose)
        }

        /// A row of one line. It need not be clean.
        public init(_ words: String, choose: @escaping @MainActor () -> Void) {
            self.init([StyledText(ScreenText.cleanedName(words))], choose: choose)
        }
    }

    /// A line to write in.
    public enum Entry {
        /// There is none.
        case none
        /// What is written is called back with every change: a search.
        case search(@MainActor (String) -> Void)
        /// What is entered is called back once, and is not shown while it is written. The dialog is closed by then.
        case secret(@MainActor (String) -> Void)
    }

    /// What is said above the rows.
    public var words: [String] { didSet { setNeedsDisplay() } }
    /// What can be chosen.
    public var rows: [Row] { didSet { setNeedsDisplay() } }
    /// Said when there are no rows.
    public var placeholder = "" { didSet { setNeedsDisplay() } }
    /// Called when the last row is reached: for more of them.
    public var onEnd: (@MainActor () -> Void)?
    /// Called when it is left without a choice, and when one was made.
    public var onClose: (@MainActor () -> Void)?

    private let entry: Entry
    private var editor = LineEditor()
    private var selected = 0
    private var first = 0

    /// A dialog that nobody sees yet.
    public init(_ title: String, words: [String] = [], rows: [Row] = [], entry: Entry = .none) {
        (self.words, self.rows, self.entry) = (words, rows, entry)
        super.init()
        self.title = title
    }

    // MARK: Drawing

    open override func draw(columns: Int, rows: Int) -> TerminalSurface {
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        guard rows > 3, columns > 2 else { return surface }
        surface.draw(StyledText(ScreenText.cleanedName(title ?? ""), theme.style(.title)), row: 0)
        var row = 1
        let layout = TextLayout(columns: columns, profile)
        for line in words.flatMap({ layout.lines(StyledText(ScreenText.cleaned($0))) }).prefix(rows / 2) {
            surface.draw(line, row: row)
            row += 1
        }
        row = drawEntry(into: &surface, row: row)
        drawRows(into: &surface, from: row + 1, to: rows - 1)
        let hint =
            switch entry {
            case .secret: "Enter takes what you wrote; Esc goes back."
            case .none, .search: "Enter chooses, ↑ and ↓ move, Esc goes back."
            }
        surface.draw(StyledText(hint, theme.style(.hint)), row: rows - 1)
        return surface
    }

    private func drawEntry(into surface: inout TerminalSurface, row: Int) -> Int {
        let (before, after): (String, String)
        switch entry {
        case .none: return row
        case .search: (before, after) = (editor.before, editor.after)
        case .secret:
            (before, after) = (
                String(repeating: "•", count: editor.before.count), String(repeating: "•", count: editor.after.count)
            )
        }
        let view = LineView(prompt: "", before: before, after: after, columns: surface.columns - 2)
        surface.draw(StyledText("? " + view.text), row: row)
        surface.cursor = .init(column: min(view.cursor + 2, surface.columns - 1), row: row)
        return row + 1
    }

    private func drawRows(into surface: inout TerminalSurface, from top: Int, to end: Int) {
        guard !rows.isEmpty else {
            surface.draw(StyledText(ScreenText.cleanedName(placeholder), theme.style(.hint)), row: top)
            return
        }
        selected = min(selected, rows.count - 1)
        first = min(first, selected)
        while first < selected, rows[first...selected].reduce(0, { $0 + $1.lines.count }) > end - top { first += 1 }
        var row = top
        for index in first..<rows.count {
            for line in rows[index].lines where row < end {
                var line = TerminalLine(line, profile).truncated(to: surface.columns).fitted(to: surface.columns)
                if index == selected { line.restyle { $0.merging(theme.style(.selection)) } }
                surface.draw(line, row: row)
                row += 1
            }
        }
    }

    // MARK: Keys

    open override func handle(_ input: TerminalInput) -> Bool {
        defer { setNeedsDisplay() }
        switch input {
        case .escape, .control("c"): onClose?()
        case .up, .control("p"): selected = max(selected - 1, 0)
        case .down, .control("n"): move(by: 1)
        case .pageUp: selected = max(selected - 10, 0)
        case .pageDown: move(by: 10)
        case .enter: enter()
        default: write(input)
        }
        return true
    }

    private func move(by count: Int) {
        selected = min(selected + count, max(rows.count - 1, 0))
        if selected + 1 >= rows.count { onEnd?() }
    }

    private func enter() {
        if case .secret(let take) = entry {
            let secret = editor.line
            guard !secret.isEmpty else { return }
            onClose?()
            return take(secret)
        }
        guard rows.indices.contains(selected) else { return }
        let row = rows[selected]
        onClose?()
        row.choose()
    }

    private func write(_ input: TerminalInput) {
        let old = editor.line
        switch entry {
        case .none: return
        case .secret: _ = editor.handle(input)
        case .search(let search):
            _ = editor.handle(input)
            if editor.line != old {
                selected = 0
                search(editor.line)
            }
        }
    }
}
