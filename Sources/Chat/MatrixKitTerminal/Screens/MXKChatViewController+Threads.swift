import MatrixKit
import MatrixProtocol
import MatrixSDK
import TerminalUI

/// The threads of a room.
extension MXKChatViewController {
    /// `/threads`
    func showThreads() {
        guard let target = currentRoom else { return room.show("No room is shown.") }
        let dialog = MXKDialogViewController("Threads of \(target.displayName)")
        dialog.placeholder = "Asking the homeserver…"
        let list = ThreadList(target) { [weak self, weak dialog] roots, words in
            guard let self, let dialog else { return }
            dialog.placeholder = words
            dialog.rows = roots.map { self.row($0, target) }
        }
        dialog.onEnd = { list.more() }
        dialog.onClose = { list.end() }
        show(dialog)
        list.more()
    }

    private func row(_ root: MXEvent, _ target: MXRoom) -> MXKDialogViewController.Row {
        let formatter = MXKEventFormatter(matrixSession: target.mxSession)
        let state = target.state
        func words(_ event: MXEvent) -> String {
            let name = formatter.senderDisplayName(for: event, with: state) ?? event.sender
            let text = ((try? formatter.text(from: target.edited(event), with: state)) ?? nil)?.plain ?? ""
            return ScreenText.cleanedName("\(name): \(text.prefix(200))")
        }
        let isUnread = target.summary.unreadThreads[root.eventId] != nil
        let head = StyledText(words(root), theme.style(isUnread ? .unread : .title))
        var below = StyledText("  ")
        if let summary = target.threadSummary(of: root) {
            below.append(summary.count == 1 ? "↳ 1 reply" : "↳ \(summary.count) replies", theme.style(.link))
            if let latest = summary.latest { below.append("  \(words(latest))", theme.style(.hint)) }
        }
        return .init([head, below]) { [weak self] in self?.openThread(root.eventId, of: target) }
    }

    private func openThread(_ rootId: String, of target: MXRoom) {
        guard let session = target.mxSession else { return }
        // Around a search hit or in another thread, show the room first.
        if room.roomDataSource?.isLive != true || room.roomDataSource?.threadId != nil {
            open(target.roomId, in: session)
        }
        room.displayThread(rootId: rootId)
    }
}

/// The loaded events that started threads.
@MainActor
private final class ThreadList {
    private enum Place {
        case start
        case after(String)
        case loading
        case end
    }

    private let room: MXRoom
    private let onChange: @MainActor ([MXEvent], String) -> Void
    private var place = Place.start
    private var roots: [MXEvent] = []

    init(_ room: MXRoom, onChange: @escaping @MainActor ([MXEvent], String) -> Void) {
        (self.room, self.onChange) = (room, onChange)
    }

    func end() { place = .end }

    func more() {
        let from: String?
        switch place {
        case .start: from = nil
        case .after(let token): from = token
        case .loading, .end: return
        }
        place = .loading
        Task {
            do {
                let page = try await room.threads(from: from)
                guard case .loading = place else { return }
                let known = Set(roots.map(\.eventId))
                let new = page.chunk.filter { !known.contains($0.eventId) }
                roots += new
                // Stop if the homeserver repeats a page.
                place = page.nextBatch.flatMap { new.isEmpty ? nil : .after($0) } ?? .end
                onChange(roots, "There is no thread here.")
            } catch {
                guard case .loading = place else { return }
                place = from.map { .after($0) } ?? .start
                onChange(roots, "The threads could not be had: \(error)")
            }
        }
    }
}
