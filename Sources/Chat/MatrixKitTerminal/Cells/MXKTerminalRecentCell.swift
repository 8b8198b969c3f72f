import MatrixKit
import MatrixProtocol
public import TerminalUI

/// A room of a list on one line: its name, and its unread count on the right.
@MainActor
open class MXKTerminalRecentCell: MXKTerminalBaseCell {
    open override func lines(_ layout: MXKCellLayout) -> [TerminalLine] {
        guard let room = renderedCellData() as? any MXKRecentCellDataStoring else { return [] }
        let name = ScreenText.cleanedName(room.roomDisplayname ?? room.roomIdentifier)
        var (badge, style) = (StyledText(), TerminalStyle.standard)
        if room.roomSummary.membership == .invite {
            badge = StyledText("invite", layout.theme.style(.mention))
            style = layout.theme.style(.unread)
        } else if room.highlightCount > 0 {
            badge = StyledText("@\(room.notificationCount)", layout.theme.style(.mention))
            style = layout.theme.style(.unread)
        } else if room.hasUnread {
            let count = room.notificationCount > 0 ? room.notificationCountStringValue : "•"
            badge = StyledText(count, layout.theme.style(.unread))
            style = layout.theme.style(.unread)
        }
        let badgeWidth = badge.isEmpty ? 0 : badge.width(layout.profile) + 1
        let line = TerminalLine(StyledText(name, style), layout.profile, anchor: room.roomIdentifier)
        guard badgeWidth > 0, badgeWidth < layout.columns else { return [line.truncated(to: layout.columns)] }
        var whole = line.truncated(to: layout.columns - badgeWidth)
        whole.pad(to: layout.columns - badgeWidth + 1)
        whole.append(badge, layout.profile)
        return [whole]
    }
}
