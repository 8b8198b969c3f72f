public import MatrixKit
import MatrixProtocol
public import MatrixSDK
public import TerminalUI

/// Receives the chosen member of a list.
@MainActor
public protocol MXKRoomMemberListViewControllerDelegate: AnyObject {
    /// Called when the user chose a member.
    func roomMemberListViewController(
        _ roomMemberListViewController: MXKRoomMemberListViewController, didSelectMember member: MXRoomMember)
}

/// The members of a room.
@MainActor
open class MXKRoomMemberListViewController: MXKViewController, MXKDataSourceDelegate {
    /// The data source of the members.
    public private(set) var dataSource: MXKRoomMemberListDataSource?
    /// The delegate that receives the chosen member.
    public weak var delegate: (any MXKRoomMemberListViewControllerDelegate)?
    /// Whether typing searches the list. The default is true.
    public var enableMemberSearch = true
    /// Whether members can be invited from here. The default is false.
    public var enableMemberInvitation = false

    /// Whether the list has the keyboard focus and keeps the selected member visible. The default is false.
    public var hasFocus = false { didSet { if hasFocus != oldValue { setNeedsDisplay() } } }

    private var selected = 0
    private var first = 0
    private var search = LineEditor()

    public override init() { super.init() }

    /// Shows these members.
    open func displayList(_ listDataSource: MXKRoomMemberListDataSource?) {
        dataSource?.destroy()
        dataSource = listDataSource
        (selected, first, search) = (0, 0, LineEditor())
        listDataSource?.delegate = self
        setNeedsDisplay()
    }

    // MARK: Cells

    open func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? {
        cellData is any MXKRoomMemberCellDataStoring ? MXKTerminalMemberCell.self : nil
    }

    open func cellReuseIdentifier(for cellData: MXKCellData) -> String? { "MXKTerminalMemberCell" }

    open func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) { setNeedsDisplay() }

    open func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { setNeedsDisplay() }

    // MARK: Drawing and keys

    open override func draw(columns: Int, rows: Int) -> TerminalSurface {
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        guard let dataSource, rows > 1 else { return surface }
        let count = dataSource.numberOfCells
        let members = count == 1 ? "1 member" : "\(count) members"
        let title = search.line.isEmpty ? members : "? " + ScreenText.cleaned(search.line)
        surface.draw(StyledText(title, theme.style(.title)), row: 0)
        selected = min(selected, max(dataSource.numberOfCells - 1, 0))
        first = min(max(first, selected - rows + 2), selected)
        let layout = MXKCellLayout(columns: columns, theme: theme, profile: profile)
        for row in 1..<rows {
            guard let data = dataSource.cellData(at: first + row - 1),
                let type = cellViewClass(for: data) as? any MXKTerminalCell.Type
            else { break }
            let cell = type.init()
            cell.render(data)
            guard var line = cell.lines(layout).first?.fitted(to: columns) else { continue }
            if hasFocus, first + row - 1 == selected { line.restyle { $0.merging(theme.style(.selection)) } }
            surface.draw(line, row: row)
        }
        return surface
    }

    open override func handle(_ input: TerminalInput) -> Bool {
        guard let dataSource else { return false }
        defer { setNeedsDisplay() }
        switch input {
        case .up, .control("p"): selected = max(selected - 1, 0)
        case .down, .control("n"): selected = min(selected + 1, max(dataSource.numberOfCells - 1, 0))
        case .enter:
            guard let member = dataSource.cellData(at: selected)?.roomMember else { return false }
            delegate?.roomMemberListViewController(self, didSelectMember: member)
        default:
            guard enableMemberSearch else { return false }
            let old = search.line
            _ = search.handle(input)
            guard search.line != old else { return false }
            dataSource.search(withPatterns: search.line.isEmpty ? nil : [search.line])
            selected = 0
        }
        return true
    }

    open override func destroy() {
        dataSource?.destroy()
        dataSource = nil
        super.destroy()
    }
}

/// A member of a list on one line: presence, name, level.
@MainActor
open class MXKTerminalMemberCell: MXKTerminalBaseCell {
    open override func lines(_ layout: MXKCellLayout) -> [TerminalLine] {
        guard let data = renderedCellData() as? any MXKRoomMemberCellDataStoring else { return [] }
        var text = StyledText()
        switch (data as? MXKRoomMemberCellData)?.presence {
        case .online?: text.append("● ", layout.theme.style(.online))
        case .unavailable?: text.append("● ", layout.theme.style(.away))
        case .offline?: text.append("○ ", layout.theme.style(.offline))
        case .unknown?, nil: text.append("  ")
        }
        let isInvited = data.roomMember.membership == .invite
        let name = ScreenText.cleanedName(data.memberDisplayName ?? data.roomMember.userId)
        let userId = data.roomMember.userId
        // The style of the name above the user's messages.
        let isOwn = userId == (data as? MXKRoomMemberCellData)?.dataSource?.mxSession?.myUserId
        let style = isOwn ? layout.theme.style(.own) : layout.theme.name(of: userId)
        text.append(name, isInvited ? layout.theme.style(.subtitle) : style)
        if data.powerLevel >= 1 { text.append(" ★", layout.theme.style(.hint)) }
        if data.isTyping { text.append(" …", layout.theme.style(.hint)) }
        if isInvited { text.append(" invited", layout.theme.style(.hint)) }
        return [TerminalLine(text, layout.profile).truncated(to: layout.columns)]
    }
}
