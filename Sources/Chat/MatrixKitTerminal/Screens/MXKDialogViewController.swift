import MatrixKit
public import TerminalUI

/// A question or a list in place of the rooms: a text, the choices below it, and optionally an input line.
///
/// Only the user makes a choice, starting at the first row: put a harmless one there.
@MainActor
open class MXKDialogViewController: MXKViewController {
    /// A choice.
    public struct Row {
        /// The lines of the row; those that are too long are cut off.
        public var lines: [StyledText]
        /// Called when the row is chosen, after the dialog has closed.
        public var choose: @MainActor () -> Void

        /// Creates a row of several lines. They must be sanitised.
        public init(_ lines: [StyledText], choose: @escaping @MainActor () -> Void) {
            (self.lines, self.choose) = (lines, choose)
        }

        /// Creates a row of one line. It need not be sanitised.
        public init(_ words: String, choose: @escaping @MainActor () -> Void) {
            self.init([StyledText(ScreenText.cleanedName(words))], choose: choose)
        }
    }

    /// The input line.
    public enum Entry {
        /// No input line.
        case none
        /// A search, called with every change of the text.
        case search(@MainActor (String) -> Void)
        /// A secret, called once on entry, after the dialog has closed. It is not shown while typing.
        case secret(@MainActor (String) -> Void)
    }

    /// The text above the rows.
    public var words: [String] { didSet { setNeedsDisplay() } }
    /// The choices.
    public var rows: [Row] { didSet { setNeedsDisplay() } }
    /// The text shown when there are no rows.
    public var placeholder = "" { didSet { setNeedsDisplay() } }
    /// Called when the last row is reached, to load more.
    public var onEnd: (@MainActor () -> Void)?
    /// Called when the dialog closes, with or without a choice.
    public var onClose: (@MainActor () -> Void)?

    private let entry: Entry
    private var editor = LineEditor()
    private var selected = 0
    private var first = 0

    /// Creates a dialog without showing it.
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
