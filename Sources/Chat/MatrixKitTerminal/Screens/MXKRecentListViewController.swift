import Foundation
public import MatrixKit
public import MatrixSDK
public import TerminalUI

/// Receives the chosen room of a list.
@MainActor
public protocol MXKRecentListViewControllerDelegate: AnyObject {
    /// Called when the user chose a room.
    func recentListViewController(
        _ recentListViewController: MXKRecentListViewController, didSelectRoom roomId: String,
        inMatrixSession mxSession: MXSession)
}

/// The rooms of one or more accounts, with their unread counts.
@MainActor
open class MXKRecentListViewController: MXKViewController, MXKDataSourceDelegate {
    /// The data source of the rooms.
    public private(set) var dataSource: MXKRecentsDataSource?
    /// The delegate that receives the chosen room.
    public weak var delegate: (any MXKRecentListViewControllerDelegate)?
    /// The room shown beside the list.
    public var openRoomId: String? { didSet { if openRoomId != oldValue { setNeedsDisplay() } } }
    /// The session of that room, for lists with several accounts.
    public var openSession: MXSession? { didSet { if openSession !== oldValue { setNeedsDisplay() } } }
    /// Whether the list has the keyboard focus.
    public var hasFocus = true { didSet { if hasFocus != oldValue { setNeedsDisplay() } } }

    /// The selected user and room.
    private var selectedId: String?
    private var viewport = CellViewport()
    private var followsSelection = true
    private var rows = 0
    private let cache = LayoutCache()

    public override init() { super.init() }

    /// Shows these rooms.
    open func displayList(_ listDataSource: MXKRecentsDataSource?) {
        dataSource?.delegate = nil
        dataSource = listDataSource
        listDataSource?.delegate = self
        for session in listDataSource?.mxSessions ?? [] { addMatrixSession(session) }
        setNeedsDisplay()
    }

    /// Redraws the list.
    open func refreshRecentsTable() { setNeedsDisplay() }

    // MARK: Cells

    open func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? {
        cellData is any MXKRecentCellDataStoring ? MXKTerminalRecentCell.self : nil
    }

    open func cellReuseIdentifier(for cellData: MXKCellData) -> String? { "MXKTerminalRecentCell" }

    open func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) { setNeedsDisplay() }

    open func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { setNeedsDisplay() }

    /// All rooms, section by section.
    private var paths: [IndexPath] {
        guard let dataSource else { return [] }
        return (0..<dataSource.numberOfSections).flatMap { section in
            (0..<dataSource.numberOfCells(inSection: section)).map { IndexPath(row: $0, section: section) }
        }
    }

    /// Includes the user, because a room may be in the lists of several accounts.
    private func id(at path: IndexPath) -> String? {
        guard let room = dataSource?.getRoomAt(path) else { return dataSource?.cellData(at: path)?.roomIdentifier }
        return "\(room.mxSession?.ownUserId ?? "") \(room.roomId)"
    }

    private var openId: String? { openRoomId.map { "\(openSession?.ownUserId ?? "") \($0)" } }

    private func isOpen(_ path: IndexPath) -> Bool {
        guard openSession != nil else { return dataSource?.cellData(at: path)?.roomIdentifier == openRoomId }
        return openRoomId != nil && id(at: path) == openId
    }

    /// Returns the account's heading above its first room, if there are several accounts.
    private func header(above path: IndexPath, _ layout: MXKCellLayout) -> TerminalLine? {
        guard let dataSource, path.row == 0, dataSource.numberOfSections > 1 else { return nil }
        let user = ScreenText.cleanedName(dataSource.getRoomAt(path)?.mxSession?.ownUserId ?? "")
        return TerminalLine(StyledText(user, theme.style(.date)), profile).truncated(to: layout.columns)
    }

    private var selectedIndex: Int? {
        let paths = paths
        let wanted = selectedId ?? openId
        return paths.firstIndex { id(at: $0) == wanted } ?? (paths.isEmpty ? nil : 0)
    }

    // MARK: Drawing

    open override func draw(columns: Int, rows: Int) -> TerminalSurface {
        self.rows = rows
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        guard let dataSource else { return surface }
        if dataSource.state == .preparing {
            surface.draw(StyledText("Loading…", theme.style(.hint)), row: 0)
            return surface
        }
        let paths = paths
        guard !paths.isEmpty else {
            surface.draw(
                StyledText(
                    dataSource.searchPatternsList == nil && dataSource.filter == .all ? "No rooms" : "No room fits",
                    theme.style(.hint)),
                row: 0)
            return surface
        }
        let source = viewportSource(paths, columns: columns)
        if followsSelection, let selectedIndex { viewport.reveal(selectedIndex, source, rows: rows) }
        for (row, line) in viewport.lines(source, rows: rows).enumerated() {
            surface.draw(line.fitted(to: columns), row: row)
        }
        return surface
    }

    private func viewportSource(_ paths: [IndexPath], columns: Int) -> CellViewport.Source {
        var layout = MXKCellLayout(columns: columns, theme: theme, profile: profile)
        layout.showsReceipts = false
        let selected = selectedIndex
        return CellViewport.Source(
            count: paths.count,
            lines: { index in
                guard let data = self.dataSource?.cellData(at: paths[index]),
                    let type = self.cellViewClass(for: data) as? any MXKTerminalCell.Type
                else { return [] }
                var lines = self.cache.cell(for: data, layout) { type.init() }?.lines ?? []
                for line in lines.indices where lines[line].anchor != nil {
                    lines[line].anchor = self.id(at: paths[index])
                }
                let isOpen = self.isOpen(paths[index])
                let isSelected = index == selected && self.hasFocus
                if isOpen || isSelected {
                    for line in lines.indices {
                        lines[line] = lines[line].fitted(to: columns)
                        let flags: TerminalStyle.Flags = isSelected ? .inverse : .underline
                        lines[line].restyle { $0.merging(TerminalStyle(.standard, on: .standard, flags)) }
                    }
                }
                if let header = self.header(above: paths[index], layout) { lines.insert(header, at: 0) }
                return lines
            },
            id: { self.id(at: paths[$0]) }, index: { id in paths.firstIndex { self.id(at: $0) == id } })
    }

    // MARK: Keys

    open override func handle(_ input: TerminalInput) -> Bool {
        switch input {
        case .up, .control("p"): move(by: -1)
        case .down, .control("n"): move(by: 1)
        case .pageUp: move(by: -max(rows - 1, 1))
        case .pageDown: move(by: max(rows - 1, 1))
        case .home: move(by: -paths.count)
        case .end: move(by: paths.count)
        case .enter: selectedIndex.map { choose($0) }
        case .mouse(let mouse): return handle(mouse)
        default: return false
        }
        return true
    }

    private func handle(_ mouse: TerminalMouse) -> Bool {
        let paths = paths
        switch mouse.action {
        case .scrolledUp, .scrolledDown:
            followsSelection = false
            let source = viewportSource(paths, columns: 20)
            viewport.scroll(by: mouse.action == .scrolledUp ? -3 : 3, source, rows: rows)
            setNeedsDisplay()
        case .pressed(button: 0):
            let lines = viewport.lines(viewportSource(paths, columns: 20), rows: rows)
            guard lines.indices.contains(mouse.row), let anchor = lines[mouse.row].anchor,
                let index = paths.firstIndex(where: { id(at: $0) == anchor })
            else { return false }
            choose(index)
        case .pressed, .released, .moved: return false
        }
        return true
    }

    private func move(by count: Int) {
        let paths = paths
        guard let selectedIndex else { return }
        let index = min(max(selectedIndex + count, 0), paths.count - 1)
        selectedId = id(at: paths[index])
        followsSelection = true
        setNeedsDisplay()
    }

    private func choose(_ index: Int) {
        let path = paths[index]
        guard let dataSource, let cell = dataSource.cellData(at: path),
            let session = dataSource.getRoomAt(path)?.mxSession
        else { return }
        selectedId = id(at: path)
        delegate?.recentListViewController(self, didSelectRoom: cell.roomIdentifier, inMatrixSession: session)
        setNeedsDisplay()
    }

    open override func destroy() {
        dataSource?.delegate = nil
        dataSource = nil
        super.destroy()
    }
}
