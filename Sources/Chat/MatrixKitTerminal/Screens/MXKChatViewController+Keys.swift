import Foundation
import MatrixKit
import MatrixProtocol
import TerminalUI

/// Keyboard input.
extension MXKChatViewController {
    /// The help lines for keys: the current keys of ``MXKKeyMap`` and the fixed ones.
    var helpOfKeys: [String] {
        func line(_ keys: String, _ words: String) -> String {
            keys.padding(toLength: max(22, keys.count + 2), withPad: " ", startingAt: 0) + words
        }
        let changeable = MXKKeyMap.Action.allCases.map { action in
            line(settings.keys.keys(of: action).map(MXKKeyMap.name).joined(separator: " "), action.summary)
        }
        let fixed = [
            ("enter", "send; in a list, choose"), ("alt-enter ctrl-j", "new line"),
            ("tab shift-tab", "complete a name, #room, :emoji: or /command"),
            ("esc", "leave what is open; never the program"), ("n N", "next and previous hit, after a search"),
            ("alt-1 … alt-9", "the first rooms of the list"), ("?", "this help, in an empty line"),
            ("ctrl-z", "stop; fg continues"), ("ctrl-c twice", "leave"),
        ]
        let file = MXKChatSettings.standardFile.map {
            ["", "The keys above the last nine can be changed in \($0.path())"]
        }
        return changeable + fixed.map { line($0.0, $0.1) } + (file ?? [])
    }

    func handleKey(_ input: TerminalInput) -> Bool {
        if case .focus(let hasFocus) = input {
            room.hasTerminalFocus = hasFocus
            return true
        }
        defer { setNeedsDisplay() }
        guard input == .control("c") else {
            if input.isKey { textAtLeaving = nil }
            return handleOther(input)
        }
        if let textAtLeaving {
            // Ctrl-C has discarded the text: restore it as a draft.
            if room.inputToolbarView.draft.isEmpty { room.inputToolbarView.textMessage = textAtLeaving }
            onQuit?()
            return true
        }
        let text = room.inputToolbarView.draft
        _ = handleOther(input)
        textAtLeaving = text
        room.show("Press Ctrl-C again to leave.")
        return true
    }

    private func handleOther(_ input: TerminalInput) -> Bool {
        if input.isKey, let taken = handleInCover(input) { return taken }
        if focus == .search {
            if searchResults.handle(input) { return true }
            if input == .escape || input == .control("c") {
                focus = .room
                return true
            }
        }
        if case .mouse(let mouse) = input { return handle(mouse) }
        if input == .control("c") { return closeWhatIsOpen() }
        if input == .text("?"), focus == .room, room.inputToolbarView.textMessage.isEmpty {
            isHelpShown = true
            return true
        }
        if isAmongHits, let taken = handleAmongHits(input) { return taken }
        if let action = settings.keys.action(of: input) {
            carryOut(action)
            return true
        }
        if case .key(.character(let digit), .alt) = input, let number = digit.wholeNumberValue, number > 0 {
            openRoom(number)
            return true
        }
        switch focus {
        case .rooms: return handleInRooms(input)
        case .members: return handleInMembers(input)
        case .room, .search:
            // A default key without an action belongs to the input line.
            let isUsual = MXKKeyMap.Action.allCases.contains { $0.usualKeys.contains(input) }
            return isUsual ? room.inputToolbarView.handle(input) : room.handle(input)
        }
    }

    /// Handles `n` and `N` among search hits. Any other text ends this mode.
    private func handleAmongHits(_ input: TerminalInput) -> Bool? {
        guard focus == .room, room.inputToolbarView.textMessage.isEmpty else { return nil }
        switch input {
        case .text("n"), .text("N"):
            let isNext = input == .text("n")
            if !searchResults.chooseHit(next: isNext) {
                room.show(isNext ? "This is the last hit." : "This is the first hit.")
            }
        case .escape where room.selectedEventId == nil: isAmongHits = false
        case .text, .paste:
            isAmongHits = false
            return nil
        default: return nil
        }
        return true
    }

    /// Handles all keys while a view covers the screen.
    private func handleInCover(_ input: TerminalInput) -> Bool? {
        if isHelpShown {
            switch input {
            case .down: helpLine += 1
            case .up: helpLine = max(helpLine - 1, 0)
            case .pageDown: helpLine += 10
            case .pageUp: helpLine = max(helpLine - 10, 0)
            default: (isHelpShown, helpLine) = (false, 0)
            }
            return true
        }
        return (activeVerification ?? dialog)?.handle(input)
    }

    /// Closes the open view on Ctrl-C.
    private func closeWhatIsOpen() -> Bool {
        if focus == .rooms { return leaveSearch() }
        if focus == .members {
            focus = .room
            return true
        }
        if !room.inputToolbarView.textMessage.isEmpty { return room.handle(.control("c")) }
        return true
    }

    private func handle(_ mouse: TerminalMouse) -> Bool {
        guard dialog == nil, activeVerification == nil, !isHelpShown else { return false }
        var mouse = mouse
        let listWidth =
            columns >= Self.threeColumns ? 26 : columns >= Self.oneColumn ? 22 : focus == .rooms ? columns : 0
        if mouse.column < listWidth {
            mouse.row -= 1
            return recents.handle(.mouse(mouse))
        }
        mouse.column -= listWidth + 1
        return room.handle(.mouse(mouse))
    }

    // MARK: Actions

    private func carryOut(_ action: MXKKeyMap.Action) {
        switch action {
        case .rooms: focus = focus == .rooms ? .room : .rooms
        case .nextUnread: openNext("Nothing is unread.") { $0.hasUnread }
        case .nextMention: openNext("Nobody has mentioned you in another room.") { $0.highlightCount > 0 }
        case .members: goToMembers()
        case .filter: nextFilter()
        case .order: nextOrder()
        case .editor: writeInEditor()
        case .links: showLinks()
        case .copy: copyMessage()
        case .redraw: onRepaint?()
        case .help: isHelpShown = true
        case .previousMessage, .nextMessage, .pageUp, .pageDown, .oldest, .newest, .reply, .thread, .editLast:
            // The room knows actions by their default keys.
            guard let key = action.usualKeys.first else { return }
            _ = focus == .rooms && [.pageUp, .pageDown].contains(key) ? recents.handle(key) : room.handle(key)
        }
    }

    private func openNext(_ nothing: String, where fits: (any MXKRecentCellDataStoring) -> Bool) {
        let next = rooms { $0.roomSummary.membership == .join && fits($0) }.first { found in
            found.cell.roomIdentifier != recents.openRoomId || found.session !== recents.openSession
        }
        guard let next else { return room.show(nothing) }
        open(next.cell.roomIdentifier, in: next.session)
    }

    private func openRoom(_ number: Int) {
        let all = rooms { _ in true }
        guard all.indices.contains(number - 1) else { return }
        choose(all[number - 1].cell.roomIdentifier, in: all[number - 1].session)
    }

    // MARK: The list

    static let filters: [(MXKRecentsFilter, String)] = [
        (.all, "All rooms"), (.unread, "Unread rooms"), (.highlights, "Rooms that mention you"),
        (.direct, "Direct chats"),
    ]

    private func nextFilter() {
        guard let list = recents.dataSource else { return }
        let index = Self.filters.firstIndex { $0.0 == list.filter } ?? 0
        list.filter = Self.filters[(index + 1) % Self.filters.count].0
    }

    private func nextOrder() {
        let orders = MXKChatSettings.orders
        let index = orders.firstIndex { $0.1 == settings.order } ?? 0
        change("order", to: orders[(index + 1) % orders.count].0)
    }

    private func leaveSearch() -> Bool {
        focus = .room
        endSearch()
        return true
    }

    private func handleInRooms(_ input: TerminalInput) -> Bool {
        if input == .escape { return leaveSearch() }
        if recents.handle(input) { return true }
        let old = search.line
        _ = search.handle(input)
        if search.line != old {
            recents.dataSource?.search(withPatterns: search.line.isEmpty ? nil : [search.line])
        }
        return true
    }
}
