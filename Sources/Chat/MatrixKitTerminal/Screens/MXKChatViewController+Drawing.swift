import MatrixKit
import TerminalUI

/// The screen: the room list, a room and its members.
extension MXKChatViewController {
    func drawScreen(columns: Int, rows: Int) -> TerminalSurface {
        self.columns = columns
        // Covered messages do not count as read.
        let isCovered = isHelpShown || dialog != nil || focus == .search || activeVerification != nil
        room.isEventsAcknowledgementEnabled =
            !isCovered && (columns >= Self.oneColumn || focus == .room) && !isMembersAlone(columns)
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        guard columns >= 20, rows >= 5 else {
            surface.draw(StyledText("Too small"), row: 0)
            return surface
        }
        if isHelpShown { return drawHelp(surface) }
        if let cover = activeVerification ?? dialog {
            surface.draw(cover.draw(columns: columns, rows: rows), column: 0, row: 0)
            return surface
        }
        recents.hasFocus = focus == .rooms
        members.hasFocus = focus == .members
        let rows = connection == nil ? rows : rows - 1
        if let connection {
            surface.draw(StyledText(ScreenText.cleanedName(connection), theme.style(.warning)), row: rows)
        }
        if columns < Self.oneColumn {
            if focus == .rooms {
                drawRooms(into: &surface, width: columns, rows: rows)
            } else {
                surface.draw(main.draw(columns: columns, rows: rows), column: 0, row: 0)
            }
            return surface
        }
        let listWidth = columns >= Self.threeColumns ? 26 : 22
        let membersWidth = columns >= Self.threeColumns && (showsMembers || focus == .members) ? 20 : 0
        drawRooms(into: &surface, width: listWidth, rows: rows)
        drawBorder(into: &surface, column: listWidth, rows: rows)
        let roomWidth = columns - listWidth - 1 - (membersWidth > 0 ? membersWidth + 1 : 0)
        let part = main.draw(columns: roomWidth, rows: rows)
        let cursor = surface.cursor
        surface.draw(part, column: listWidth + 1, row: 0)
        if focus == .rooms { surface.cursor = cursor }
        if membersWidth > 0 {
            drawBorder(into: &surface, column: columns - membersWidth - 1, rows: rows)
            surface.draw(members.draw(columns: membersWidth, rows: rows), column: columns - membersWidth, row: 0)
        }
        if focus == .members { surface.cursor = nil }
        return surface
    }

    /// Returns whether the member list replaces the room for lack of space.
    private func isMembersAlone(_ columns: Int) -> Bool { focus == .members && columns < Self.threeColumns }

    private var main: MXKViewController {
        focus == .search ? searchResults : isMembersAlone(columns) ? members : room
    }

    private func drawBorder(into surface: inout TerminalSurface, column: Int, rows: Int) {
        for row in 0..<rows { surface.draw(StyledText("│", theme.style(.border)), column: column, row: row) }
    }

    private func drawRooms(into surface: inout TerminalSurface, width: Int, rows: Int) {
        let view = LineView(prompt: "", before: search.before, after: search.after, columns: width - 2)
        if focus == .rooms {
            surface.draw(StyledText("? " + view.text), row: 0, width: width)
            surface.cursor = .init(column: min(view.cursor + 2, width - 1), row: 0)
        } else {
            let filter = recents.dataSource?.filter ?? .all
            let words = Self.filters.first { $0.0 == filter && filter != .all }?.1 ?? "Rooms"
            surface.draw(StyledText(words, theme.style(.title)), row: 0, width: width)
        }
        surface.draw(recents.draw(columns: width, rows: rows - 1), column: 0, row: 1)
    }

    private func drawHelp(_ surface: TerminalSurface) -> TerminalSurface {
        var surface = surface
        let commands = MXKCommand.known.map { "\($0.usage)  \($0.summary)" }
        let layout = TextLayout(columns: surface.columns, profile)
        let lines = (helpOfKeys + ["", "Commands", ""] + commands).flatMap {
            layout.lines(StyledText($0), rest: "    ")
        }
        helpLine = min(helpLine, max(lines.count - surface.rows + 3, 0))
        surface.draw(StyledText("Keys", theme.style(.title)), row: 0)
        for (row, line) in lines.dropFirst(helpLine).prefix(surface.rows - 3).enumerated() {
            surface.draw(line, row: row + 2)
        }
        surface.draw(StyledText("↓ and ↑ scroll; any other key goes back.", theme.style(.hint)), row: surface.rows - 1)
        return surface
    }
}
