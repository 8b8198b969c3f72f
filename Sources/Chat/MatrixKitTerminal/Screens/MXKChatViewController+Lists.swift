import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK
import TerminalUI

/// Lists across all rooms.
extension MXKChatViewController {
    /// `/unread list`
    func showUnread() {
        let rows = rooms(where: { $0.roomSummary.membership == .join && $0.hasUnread }).map { found in
            let count = found.cell.notificationCount > 0 ? "  \(found.cell.notificationCount)" : ""
            let mention = found.cell.highlightCount > 0 ? "  mentions you" : ""
            let account = accounts.count > 1 ? "  \(found.session.ownUserId)" : ""
            let words = "\(found.cell.roomDisplayname ?? found.cell.roomIdentifier)\(count)\(mention)\(account)"
            return MXKDialogViewController.Row(words) { [weak self] in
                self?.open(found.cell.roomIdentifier, in: found.session)
            }
        }
        let dialog = MXKDialogViewController("Unread rooms", rows: rows)
        dialog.placeholder = "Nothing is unread."
        show(dialog)
    }

    /// `/mentions`: the stored messages that the push rules highlight, newest first.
    func showMentions() {
        let dialog = MXKDialogViewController("Mentions in all rooms")
        dialog.placeholder = "Looking…"
        show(dialog)
        let sessions = mxSessions
        Task { [weak self, weak dialog] in
            let found = await Mention.all(in: sessions)
            guard let self, let dialog else { return }
            dialog.placeholder = "Nothing that is stored mentions you."
            dialog.rows = found.map(self.row)
        }
    }

    private func row(_ mention: Mention) -> MXKDialogViewController.Row {
        let formatter = MXKEventFormatter(matrixSession: mention.session)
        let state = mention.session.room(withRoomId: mention.roomId)?.state
        let event = mention.event
        let sender = formatter.senderDisplayName(for: event, with: state) ?? event.sender
        var head = StyledText(ScreenText.cleanedName(sender), theme.style(.title))
        head.append("  \(ScreenText.cleanedName(mention.roomName))", theme.style(.hint))
        head.append("  \(formatter.dateString(from: event, withTime: true) ?? "")", theme.style(.time))
        let text = ((try? formatter.text(from: event, with: state)) ?? nil)?.plain ?? ""
        let words = StyledText("  " + ScreenText.cleanedName(text))
        return .init([head, words]) { [weak self] in
            self?.open(event.eventId, of: mention.roomId, in: mention.session)
        }
    }

    // MARK: Public rooms

    /// `/rooms`: searches public rooms.
    func showPublicRooms(_ text: String, _ session: MXSession, on server: String? = nil) {
        let source = MXKPublicRoomsDataSource(matrixSession: session)
        source.server = server
        let place = server ?? session.ownUserId.split(separator: ":", maxSplits: 1).last.map(String.init) ?? ""
        let dialog = MXKDialogViewController(
            "Public rooms of \(place)", words: text.isEmpty ? [] : ["With “\(text)”"],
            entry: .search { source.searchPattern = $0.isEmpty ? text : $0 })
        dialog.placeholder = "Asking the homeserver…"
        let list = PublicRoomsList(source, dialog) { [weak self] in self?.askAboutPublicRoom($0, server, session) }
        list.onServers = { [weak self] in self?.showDirectoryServers(text, session) }
        dialog.onEnd = { list.more() }
        dialog.onClose = { list.end() }
        show(dialog)
        source.searchDelay = .zero
        if text.isEmpty { list.more() } else { source.searchPattern = text }
        source.searchDelay = .milliseconds(300)
    }

    private func showDirectoryServers(_ text: String, _ session: MXSession) {
        let servers = MXKDirectoryServersDataSource(matrixSession: session)
        let rows = (0..<servers.numberOfCells).compactMap { servers.cellData(at: $0) }.map { server in
            MXKDialogViewController.Row(server.isOwn ? "\(server.name)  your homeserver" : server.name) { [weak self] in
                self?.showPublicRooms(text, session, on: server.isOwn ? nil : server.name)
            }
        }
        show(MXKDialogViewController("Whose public rooms?", words: ["/set server NAME adds one."], rows: rows))
    }

    private func askAboutPublicRoom(_ found: MXPublicRoom, _ server: String?, _ session: MXSession) {
        if session.room(withRoomId: found.roomId)?.summary.membership == .join {
            return open(found.roomId, in: session)
        }
        let count = found.joinedMembersCount
        let words = [found.topic, found.canonicalAlias, count == 1 ? "1 member" : "\(count) members"].compactMap { $0 }
        let target = found.canonicalAlias ?? found.roomId
        let rows: [MXKDialogViewController.Row] = [
            .init("Go back") {},
            .init("Join") { [weak self] in
                self?.perform("\(target) was not joined") {
                    let via = found.canonicalAlias == nil ? server.map { [$0] } : nil
                    let joined = try await session.joinRoom(target, viaServers: via)
                    self?.open(joined.roomId, in: session)
                }
            },
        ]
        show(MXKDialogViewController(found.name ?? target, words: words, rows: rows))
    }
}

/// The loaded rows of public rooms.
@MainActor
private final class PublicRoomsList: MXKDataSourceDelegate {
    private let source: MXKPublicRoomsDataSource
    private weak var dialog: MXKDialogViewController?
    private let choose: @MainActor (MXPublicRoom) -> Void
    var onServers: (@MainActor () -> Void)?

    init(
        _ source: MXKPublicRoomsDataSource, _ dialog: MXKDialogViewController,
        choose: @escaping @MainActor (MXPublicRoom) -> Void
    ) {
        (self.source, self.dialog, self.choose) = (source, dialog, choose)
        source.delegate = self
    }

    func more() {
        guard source.canPaginate else { return }
        Task { [weak self] in
            do {
                _ = try await self?.source.paginate()
                self?.show(nil)
            } catch is CancellationError {
            } catch {
                self?.show(error)
            }
        }
    }

    func end() { source.destroy() }

    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? { nil }

    func cellReuseIdentifier(for cellData: MXKCellData) -> String? { nil }

    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) { show(source.error) }

    func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { show(source.error) }

    private func show(_ error: (any Error)?) {
        guard let dialog else { return }
        dialog.placeholder = error.map { "The rooms could not be had: \($0)" } ?? "No room fits."
        let rooms = (0..<source.roomsCount).compactMap { source.room(at: $0) }.map { room in
            let head = StyledText(ScreenText.cleanedName(room.name ?? room.canonicalAlias ?? room.roomId))
            let words = "  \(room.joinedMembersCount)  \(room.canonicalAlias ?? "")  \(room.topic ?? "")"
            return MXKDialogViewController.Row([head, StyledText(ScreenText.cleanedName(words))]) { [choose] in
                choose(room)
            }
        }
        guard error != nil || source.state == .ready || !rooms.isEmpty else { return }
        dialog.rows = rooms + [.init("Rooms of another homeserver…") { [weak self] in self?.onServers?() }]
    }
}

/// A stored message that the push rules highlight.
private struct Mention: Sendable {
    let session: MXSession
    let roomId: String
    let roomName: String
    let event: MXEvent

    /// The number of messages to check in each room.
    private static let depth = 500
    private static let maximum = 200

    /// Returns the mentions, newest first.
    @concurrent
    static func all(in sessions: [MXSession]) async -> [Mention] {
        var found: [Mention] = []
        for session in sessions {
            for room in session.rooms {
                let events = (try? session.storedEvents(in: room.roomId, limit: depth)) ?? []
                for event in events where !event.isState && event.sender != session.ownUserId {
                    guard session.pushDecision(for: event, in: room.roomId).highlight else { continue }
                    found.append(
                        Mention(session: session, roomId: room.roomId, roomName: room.displayName, event: event))
                }
            }
        }
        return Array(found.sorted { $0.event.originServerTs > $1.event.originServerTs }.prefix(maximum))
    }
}
