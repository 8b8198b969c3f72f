import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK
import TerminalUI

/// The messages as lines, and the status below them.
extension MXKRoomViewController {
    func watchThumbnails() {
        thumbnails.onChange = { [weak self] in
            self?.cache.context += 1
            self?.setNeedsDisplay()
        }
    }

    func cell(_ type: any MXKTerminalCell.Type) -> any MXKTerminalCell {
        let cell = type.init()
        (cell as? MXKTerminalBubbleCell)?.thumbnails = thumbnails
        return cell
    }

    func viewportSource() -> CellViewport.Source {
        guard let source = roomDataSource else {
            return CellViewport.Source(count: 0, lines: { _ in [] }, id: { _ in nil }, index: { _ in nil })
        }
        var layout = layoutOptions
        (layout.columns, layout.theme, layout.profile) = (columns, theme, profile)
        return CellViewport.Source(
            count: source.numberOfCells,
            lines: { index in
                guard let data = source.cellData(at: index),
                    let type = self.cellViewClass(for: data) as? any MXKTerminalCell.Type
                else { return [] }
                return self.cache.cell(for: data, layout) { self.cell(type) }?.lines ?? []
            },
            id: { source.cellData(at: $0)?.events.first?.eventId },
            index: {
                let index = source.indexOfCellData(withEventId: $0)
                return index == NSNotFound ? nil : index
            })
    }

    func drawTimeline(into surface: inout TerminalSurface) {
        guard let source = roomDataSource else { return }
        switch source.state {
        case .failed:
            let words = "This room cannot be shown: it is not among the rooms of this account."
            surface.draw(StyledText(words, theme.style(.error)), row: timelineTop)
            return
        case .unknown, .preparing:
            surface.draw(StyledText("Loading…", theme.style(.hint)), row: timelineTop)
            return
        case .ready: break
        }
        let lines = viewport.lines(viewportSource(), rows: timelineRows)
        // A short room is aligned with the composer.
        let top = timelineTop + timelineRows - lines.count
        for (index, line) in lines.enumerated() {
            var line = line.fitted(to: columns)
            if let selectedEventId, line.anchor == selectedEventId {
                line.restyle { $0.merging(theme.style(.selection)) }
            }
            surface.draw(line, row: top + index)
        }
        if top > timelineTop {
            let words =
                isPaginating
                ? "Loading older messages…" : source.canPaginate(.backwards) ? "" : "This is the beginning."
            surface.draw(StyledText(words, theme.style(.hint)), row: top - 1)
        }
    }

    /// The text of the line below the messages.
    var status: StyledText {
        var parts = StyledText()
        func add(_ words: String, _ part: MXKTheme.Part) {
            if !parts.isEmpty { parts.append("  ") }
            parts.append(words, theme.style(part))
        }
        if let notice { add(ScreenText.cleanedName(notice), .warning) }
        if let pagingTrouble { add(ScreenText.cleanedName(pagingTrouble), .warning) }
        if let hint { add(hint, .hint) }
        if roomDataSource?.threadId != nil {
            add("Esc goes back to the room", .hint)
        } else if let threads = roomDataSource?.room?.summary.unreadThreads.count, threads > 0 {
            add(threads == 1 ? "1 thread unread" : "\(threads) threads unread", .unread)
        }
        if roomDataSource?.isLive == false {
            add("Alt-End goes to the newest messages", .unread)
        } else if !viewport.isAtEnd {
            add(newBelow > 0 ? "↓ \(newBelow) new" : "↓ more", .unread)
        }
        if isPaginating { add("loading…", .hint) }
        if let room = roomDataSource?.room, roomDataSource?.showTypingNotifications == true {
            let names = room.typingUsers.map { ScreenText.cleanedName(room.state?.members.memberName($0) ?? $0) }
            switch names.count {
            case 0: break
            case 1: add("\(names[0]) is typing…", .hint)
            case 2: add("\(names[0]) and \(names[1]) are typing…", .hint)
            default: add("\(names.count) people are typing…", .hint)
            }
        }
        return parts
    }
}
