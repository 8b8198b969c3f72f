public import MatrixKit
public import MatrixSDK
public import TerminalUI

/// The results of a search. A selected message can be opened in its room.
@MainActor
open class MXKSearchViewController: MXKViewController, MXKDataSourceDelegate {
    /// The data source of the results.
    public private(set) var dataSource: MXKSearchDataSource?
    /// Called with the room and the event of the chosen message.
    public var onSelect: (@MainActor (_ roomId: String, _ eventId: String) -> Void)?

    private var selected = 0
    private var first = 0

    public override init() { super.init() }

    /// Searches messages of one room, or of all rooms if `roomId` is `nil`.
    open func search(_ text: String, inRoom roomId: String?, session: MXSession) {
        dataSource?.destroy()
        let source = MXKSearchDataSource(matrixSession: session)
        source.rooms = roomId.map { [$0] }
        source.delegate = self
        dataSource = source
        (selected, first) = (0, 0)
        source.searchMessages(text, force: true)
        setNeedsDisplay()
    }

    // MARK: Cells

    open func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? {
        cellData is any MXKSearchCellDataStoring ? MXKTerminalSearchCell.self : nil
    }

    open func cellReuseIdentifier(for cellData: MXKCellData) -> String? { "MXKTerminalSearchCell" }

    open func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) { setNeedsDisplay() }

    open func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { setNeedsDisplay() }

    // MARK: Drawing and keys

    open override func draw(columns: Int, rows: Int) -> TerminalSurface {
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        guard let dataSource, rows > 3 else { return surface }
        let words = "Messages with “\(dataSource.searchText ?? "")”"
        surface.draw(StyledText(ScreenText.cleanedName(words), theme.style(.title)), row: 0)
        let room = (rows - 3) / 2
        selected = min(selected, max(dataSource.numberOfCells - 1, 0))
        first = min(max(first, selected - room + 1), selected)
        let layout = MXKCellLayout(columns: columns, theme: theme, profile: profile)
        var row = 2
        for index in first..<min(first + room, dataSource.numberOfCells) {
            guard let data = dataSource.cellData(at: index),
                let type = cellViewClass(for: data) as? any MXKTerminalCell.Type
            else { continue }
            let cell = type.init()
            cell.render(data)
            for var line in cell.lines(layout).prefix(2) {
                line = line.fitted(to: columns)
                if index == selected { line.restyle { $0.merging(theme.style(.selection)) } }
                surface.draw(line, row: row)
                row += 1
            }
        }
        if dataSource.numberOfCells == 0 {
            let nothing = dataSource.serverError.map {
                "Nothing stored fits, and the homeserver has not searched: \($0)"
            }
            let words = dataSource.state == .ready ? nothing ?? "Nothing was found." : "Searching…"
            surface.draw(StyledText(ScreenText.cleanedName(words), theme.style(.hint)), row: 2)
        }
        surface.draw(
            StyledText("Enter shows it in its room, n and N move, Esc goes back.", theme.style(.hint)), row: rows - 1)
        return surface
    }

    open override func handle(_ input: TerminalInput) -> Bool {
        guard dataSource != nil else { return false }
        defer { setNeedsDisplay() }
        switch input {
        case .up, .control("p"), .text("N"): move(by: -1)
        case .down, .control("n"), .text("n"): move(by: 1)
        case .enter: choose()
        default: return false
        }
        return true
    }

    private func move(by step: Int) {
        guard let dataSource else { return }
        selected = min(max(selected + step, 0), max(dataSource.numberOfCells - 1, 0))
        if selected + 1 == dataSource.numberOfCells { dataSource.paginateBack() }
    }

    private func choose() {
        guard let cell = dataSource?.cellData(at: selected) as? any MXKSearchCellDataStoring, let room = cell.roomId
        else { return }
        onSelect?(room, cell.searchResult.event.eventId)
    }

    /// Selects the next or the previous hit.
    ///
    /// - Returns: False if there is none.
    @discardableResult
    public func chooseHit(next: Bool) -> Bool {
        let old = selected
        move(by: next ? 1 : -1)
        guard selected != old else { return false }
        choose()
        return true
    }

    /// The index of the selected hit and the number of known hits, as text.
    public var position: String {
        let count = dataSource?.numberOfCells ?? 0
        return count == 0 ? "no hit" : "hit \(selected + 1) of \(count)\(dataSource?.canPaginate == true ? "+" : "")"
    }

    open override func destroy() {
        dataSource?.destroy()
        dataSource = nil
        super.destroy()
    }
}

/// A search hit on two lines: sender, room and time, then the text.
@MainActor
open class MXKTerminalSearchCell: MXKTerminalBaseCell {
    open override func lines(_ layout: MXKCellLayout) -> [TerminalLine] {
        guard let data = renderedCellData() as? any MXKSearchCellDataStoring else { return [] }
        var head = StyledText(ScreenText.cleanedName(data.senderDisplayName ?? ""), layout.theme.style(.title))
        head.append("  \(ScreenText.cleanedName(data.roomDisplayName ?? ""))", layout.theme.style(.hint))
        head.append("  \(data.date ?? "")", layout.theme.style(.time))
        let text = StyledText("  " + ScreenText.cleanedName(data.message ?? ""))
        return [head, text].map { TerminalLine($0, layout.profile).truncated(to: layout.columns) }
    }
}
