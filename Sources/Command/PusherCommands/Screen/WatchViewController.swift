import CommandKit
import Foundation
import MatrixKit
import MatrixKitTerminal
import TerminalUI

/// A full-screen view of a stream: channels on the left, events on the right, and below them the input line for
/// triggering events.
@MainActor
final class WatchViewController: MXKViewController, MXKDataSourceDelegate {
    private enum Mode: Equatable {
        case looking
        case filtering
        case triggering
        /// Showing the complete event, from this line on.
        case reading(number: Int, line: Int)
        case help
    }

    private static let listWidth = 26
    private static let help = [
        "↑ ↓, PgUp PgDn   choose an event", "Enter            show all of it, JSON over several lines",
        "End              follow what comes", "/                show only events with these words",
        "[ and ]          show only the channel before or after; Esc shows all", "Space            pause, and go on",
        "t                trigger an event: CHANNEL EVENT DATA", "?                this help", "q, Ctrl-C        leave",
    ]

    let source: WatchDataSource
    var onQuit: (() -> Void)?
    /// Triggers an event; `nil` if that is impossible.
    var onTrigger: ((_ channel: String, _ event: String, _ data: String) async throws -> Void)?

    private var mode = Mode.looking
    private var viewport = CellViewport()
    private var selected: Int?
    private var editor = LineEditor()
    private var notice: String?
    private var rows = 0
    private var eventColumns = 0

    init(_ source: WatchDataSource) {
        self.source = source
        super.init()
        title = "pusher-cli listen"
        source.delegate = self
    }

    /// The reason for the end, unless the user quit.
    private(set) var trouble: String?

    /// Shows a text in the status line until the next key.
    func show(_ words: String) {
        (notice, trouble) = (words, words)
        setNeedsDisplay()
    }

    /// Redraws because rates fall even without events.
    func secondPassed() { if source.isMoving { setNeedsDisplay() } }

    // MARK: Cells

    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? {
        cellData is WatchEventCellData
            ? WatchEventCell.self : cellData is WatchChannelCellData ? WatchChannelCell.self : nil
    }

    func cellReuseIdentifier(for cellData: MXKCellData) -> String? { nil }

    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) { setNeedsDisplay() }

    private func lines(_ data: MXKCellData, columns: Int) -> [TerminalLine] {
        guard let type = cellViewClass(for: data) as? any MXKTerminalCell.Type else { return [] }
        let cell = type.init()
        cell.render(data)
        return cell.lines(MXKCellLayout(columns: columns, theme: theme, profile: profile))
    }

    private var viewportSource: CellViewport.Source {
        let columns = eventColumns
        return CellViewport.Source(
            count: source.numberOfCells,
            lines: { index in self.source.cellData(at: index).map { self.lines($0, columns: columns) } ?? [] },
            id: { self.source.cellData(at: $0).map { String($0.number) } },
            index: { Int($0).flatMap { self.source.index(ofNumber: $0) } })
    }

    // MARK: Drawing

    override func draw(columns: Int, rows: Int) -> TerminalSurface {
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        guard columns >= 20, rows >= 5 else {
            surface.draw(StyledText("Too small"), row: 0)
            return surface
        }
        self.rows = rows - 2
        switch mode {
        case .help: return drawHelp(surface)
        case .reading(let number, let line): return drawEvent(number, line, surface)
        case .looking, .filtering, .triggering: break
        }
        source.tick(Date())
        let listWidth = columns < 60 ? 0 : Self.listWidth
        eventColumns = columns - (listWidth > 0 ? listWidth + 1 : 0)
        if listWidth > 0 { drawChannels(into: &surface, width: listWidth, rows: self.rows) }
        let source = viewportSource
        for (row, line) in viewport.lines(source, rows: self.rows).enumerated() {
            var line = line.fitted(to: eventColumns)
            if let selected, line.anchor == String(selected) { line.restyle { $0.merging(theme.style(.selection)) } }
            surface.draw(line, column: columns - eventColumns, row: row)
        }
        surface.draw(statusLine(columns), row: rows - 2)
        drawComposer(into: &surface, columns: columns, row: rows - 1)
        return surface
    }

    private func drawChannels(into surface: inout TerminalSurface, width: Int, rows: Int) {
        var row = 0
        for channel in source.channels where row < rows {
            for var line in lines(channel, columns: width) where row < rows {
                line = line.fitted(to: width)
                if channel.name == source.channel { line.restyle { $0.merging(theme.style(.selection)) } }
                surface.draw(line, row: row)
                row += 1
            }
            guard !channel.members.isEmpty, row < rows else { continue }
            let names = channel.members.prefix(20).map(ScreenText.cleanedName).joined(separator: " ")
            let text = StyledText("  \(channel.members.count): \(names)", theme.style(.subtitle))
            surface.draw(text, row: row, width: width, profile)
            row += 1
        }
        for row in 0..<rows { surface.draw(StyledText("│", theme.style(.border)), column: width, row: row) }
    }

    private func statusLine(_ columns: Int) -> TerminalLine {
        var text = StyledText()
        func add(_ words: String, _ part: MXKTheme.Part) {
            if !text.isEmpty { text.append("  ") }
            text.append(words, theme.style(part))
        }
        if let notice { add(ScreenText.cleanedName(notice), .warning) }
        if source.isPaused { add("paused, \(source.heldBack) more", .unread) }
        if let channel = source.channel { add("only \(ScreenText.cleanedName(channel))", .mention) }
        if !source.filter.isEmpty { add("filter: \(ScreenText.cleanedName(source.filter))", .mention) }
        if !viewport.isAtEnd { add("↓ more", .unread) }
        add("\(source.numberOfCells) events", .hint)
        if !source.connection.isEmpty { add(source.connection, .hint) }
        add("? help", .hint)
        return TerminalLine(text, profile).truncated(to: columns).fitted(to: columns)
    }

    private func drawComposer(into surface: inout TerminalSurface, columns: Int, row: Int) {
        let prompt: String
        switch mode {
        case .filtering: prompt = "filter> "
        case .triggering: prompt = "trigger> "
        case .looking, .reading, .help: return
        }
        let view = LineView(prompt: prompt, before: editor.before, after: editor.after, columns: columns)
        surface.draw(StyledText(view.text), row: row)
        surface.cursor = .init(column: view.cursor, row: row)
    }

    private func drawHelp(_ surface: TerminalSurface) -> TerminalSurface {
        var surface = surface
        for (row, line) in Self.help.enumerated() { surface.draw(StyledText(line), row: row) }
        surface.draw(StyledText("Any key goes back.", theme.style(.hint)), row: surface.rows - 1)
        return surface
    }

    private func drawEvent(_ number: Int, _ first: Int, _ surface: TerminalSurface) -> TerminalSurface {
        var surface = surface
        guard let index = source.index(ofNumber: number), let event = source.cellData(at: index) else { return surface }
        var head = StyledText(Record.clock(event.time) + "  ", theme.style(.time))
        head.append(ScreenText.cleanedName(event.channel) + "  ", theme.name(of: event.channel))
        head.append(ScreenText.cleanedName(event.name), theme.style(.title))
        surface.draw(head, row: 0)
        let layout = TextLayout(columns: surface.columns, profile)
        let lines = layout.lines(StyledText(ScreenText.cleaned(event.pretty)))
        for (row, line) in lines.dropFirst(first).prefix(surface.rows - 3).enumerated() {
            surface.draw(line.fitted(to: surface.columns), row: row + 2)
        }
        surface.draw(StyledText("Esc goes back.", theme.style(.hint)), row: surface.rows - 1)
        return surface
    }

    // MARK: Keys

    override func handle(_ input: TerminalInput) -> Bool {
        // Several keys may arrive at once, and the first may change the meaning of the others.
        if case .text(let text) = input, text.count > 1, mode == .looking {
            for character in text { _ = handle(.text(String(character))) }
            return true
        }
        defer { setNeedsDisplay() }
        if input == .control("c"), mode == .looking {
            onQuit?()
            return true
        }
        switch mode {
        case .looking: return look(input)
        case .filtering, .triggering: return edit(input)
        case .reading(let number, let line): return read(input, number, line)
        case .help:
            mode = .looking
            return true
        }
    }

    private func look(_ input: TerminalInput) -> Bool {
        notice = nil
        switch input {
        case .up, .text("k"): move(by: -1)
        case .down, .text("j"): move(by: 1)
        case .pageUp: move(by: -max(rows - 1, 1))
        case .pageDown: move(by: max(rows - 1, 1))
        case .home: move(by: -source.numberOfCells)
        case .end, .text("G"): follow()
        case .enter: if let selected { mode = .reading(number: selected, line: 0) }
        case .text(" "): source.isPaused.toggle()
        case .text("/"): begin(.filtering, with: source.filter)
        case .text("t"): begin(.triggering, with: source.channel.map { $0 + " " } ?? "")
        case .text("["): chooseChannel(by: -1)
        case .text("]"): chooseChannel(by: 1)
        case .text("?"), .key(.function(1), []): mode = .help
        case .text("q"): onQuit?()
        case .escape: escape()
        case .mouse(let mouse):
            switch mouse.action {
            case .scrolledUp: viewport.scroll(by: -3, viewportSource, rows: rows)
            case .scrolledDown: viewport.scroll(by: 3, viewportSource, rows: rows)
            case .pressed, .released, .moved: return false
            }
        default: return false
        }
        return true
    }

    private func escape() {
        if selected != nil { return follow() }
        source.channel = nil
        source.filter = ""
    }

    private func follow() {
        selected = nil
        viewport.goToEnd()
    }

    private func move(by count: Int) {
        guard source.numberOfCells > 0 else { return }
        let current = selected.flatMap { source.index(ofNumber: $0) } ?? source.numberOfCells
        let index = min(max(current + count, 0), source.numberOfCells - 1)
        selected = source.cellData(at: index)?.number
        viewport.reveal(index, viewportSource, rows: rows)
    }

    private func chooseChannel(by step: Int) {
        let names = source.channels.map(\.name)
        guard !names.isEmpty else { return }
        let current = source.channel.flatMap { names.firstIndex(of: $0) }
        let index = current.map { $0 + step } ?? (step > 0 ? 0 : names.count - 1)
        source.channel = names.indices.contains(index) ? names[index] : nil
        follow()
    }

    private func read(_ input: TerminalInput, _ number: Int, _ line: Int) -> Bool {
        switch input {
        case .up: mode = .reading(number: number, line: max(line - 1, 0))
        case .down: mode = .reading(number: number, line: line + 1)
        case .pageUp: mode = .reading(number: number, line: max(line - rows, 0))
        case .pageDown: mode = .reading(number: number, line: line + rows)
        case .resize, .focus, .mouse, .reply, .unknown: return false
        default: mode = .looking
        }
        return true
    }

    // MARK: Texts

    private func begin(_ mode: Mode, with text: String) {
        self.mode = mode
        editor = LineEditor()
        if !text.isEmpty { editor.replace(before: text) }
    }

    private func edit(_ input: TerminalInput) -> Bool {
        if input == .escape || input == .control("c") {
            mode = .looking
            return true
        }
        let effect = editor.handle(input)
        if mode == .filtering {
            source.filter = editor.line
            follow()
        }
        guard case .entered(let text) = effect else { return true }
        if mode == .filtering { source.filter = text } else { trigger(text) }
        mode = .looking
        return true
    }

    private func trigger(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3, let onTrigger else {
            notice =
                onTrigger == nil ? "Triggering needs the key, the secret and the app id." : "Usage: CHANNEL EVENT DATA"
            return
        }
        Task { [weak self] in
            do {
                try await onTrigger(parts[0], parts[1], parts[2])
                self?.notice = "triggered \(parts[1]) on \(parts[0])"
            } catch {
                self?.notice = "not triggered: \(Complaint.text(error))"
            }
            self?.setNeedsDisplay()
        }
    }
}
