public import Foundation
import MatrixProtocol
public import MatrixSDK

/// The rooms that a list shows.
public enum MXKRecentsFilter: Hashable, Sendable {
    /// All rooms.
    case all
    /// Rooms with unread events.
    case unread
    /// Rooms with events that the push rules highlight.
    case highlights
    /// Rooms with a pending invitation.
    case invites
    /// Direct chats.
    case direct
    /// Rooms marked as favourites.
    case favourites
    /// Rooms marked as low priority.
    case lowPriority
    /// Rooms with this tag.
    case tag(String)
    /// Rooms in this space.
    case space(String)
}

/// The order of a list of rooms. Equal rooms are sorted by id.
public enum MXKRecentsOrder: Hashable, Sendable {
    /// The newest message first.
    case activity
    /// Highlights and invitations, then unread rooms, then the rest, each by activity.
    case unreadFirst
    /// By name.
    case name
}

/// The rooms of one session.
@MainActor
open class MXKSessionRecentsDataSource: MXKDataSource {
    /// The formatter for last messages.
    public var eventFormatter: MXKEventFormatter
    /// The rooms to show. The default is all.
    public var filter = MXKRecentsFilter.all { didSet { if filter != oldValue { refresh() } } }
    /// The order of the rooms. The default is by activity.
    public var order = MXKRecentsOrder.activity { didSet { if order != oldValue { refresh() } } }
    /// The interval within which changes are reported together: the first change at once, the last one always. The
    /// default is half a second.
    public var reportInterval = Duration.milliseconds(500)

    private var cells: [any MXKRecentCellDataStoring] = []
    private var patterns: [String] = []
    private var observer: UUID?
    private let reports = Throttle()
    private var changedRooms: Set<String> = []

    public override init(matrixSession mxSession: MXSession?) {
        eventFormatter = MXKEventFormatter(matrixSession: mxSession)
        eventFormatter.isForSubtitle = true
        super.init(matrixSession: mxSession)
        registerCellDataClass(MXKRecentCellData.self, forCellIdentifier: kMXKRecentCellIdentifier)
    }

    open override func destroy() {
        if let observer { mxSession?.stopObserving(observer) }
        observer = nil
        cells = []
        super.destroy()
    }

    open override func didMXSessionStateChange() {
        guard !isDestroyed else { return }
        if mxSession == nil || mxSession?.state == .closed { return setState(.failed) }
        guard sessionHasData, state != .ready else { return }
        if observer == nil {
            observer = mxSession?.observeReports { [weak self] report in
                let rooms = report.changedRooms
                guard rooms.listMayChange else { return }
                Task { @MainActor in self?.listChanged(rooms.ids) }
            }
        }
        cells = makeCells()
        setState(.ready)
        tell(nil)
    }

    // MARK: Cells

    /// The number of rooms shown.
    public var numberOfCells: Int { cells.count }

    /// Whether any of them has unread events.
    public var hasUnread: Bool { cells.contains { $0.hasUnread } }

    /// Returns the room at an index; `nil` if out of range.
    open func cellData(at index: Int) -> (any MXKRecentCellDataStoring)? {
        cells.indices.contains(index) ? cells[index] : nil
    }

    /// Returns the cell height according to the delegate's view class.
    open func cellHeight(at index: Int) -> CGFloat {
        guard let cell = cellData(at: index) else { return 0 }
        return delegate?.cellViewClass(for: cell)?.height(for: cell, withMaximumWidth: .greatestFiniteMagnitude) ?? 0
    }

    /// Shows only rooms whose name, address or direct chat user id contains one of the patterns. Pass `nil` to show
    /// all.
    open func search(withPatterns patternsList: [String]?) {
        patterns = (patternsList ?? []).filter { !$0.isEmpty }
        refresh()
    }

    // MARK: Changes

    private func listChanged(_ rooms: Set<String>) {
        changedRooms.formUnion(rooms)
        reports.run(every: reportInterval) { [weak self] in self?.refresh() }
    }

    /// Rebuilds the list and reports the differences.
    func refresh() {
        guard state == .ready, !isDestroyed else { return }
        reports.wasDone()
        let old = cells
        let known = Dictionary(old.map { ($0.roomIdentifier, $0) }) { first, _ in first }
        let changed = changedRooms
        changedRooms = []
        var updated: Set<String> = []
        cells = makeCells { summary in
            guard let cell = known[summary.roomId] else { return nil }
            if cell.roomSummary == summary, !changed.contains(summary.roomId) { return cell }
            updated.insert(summary.roomId)
            return nil
        }
        tell(
            MXKCellChanges(from: old.map(\.roomIdentifier), to: cells.map(\.roomIdentifier)) { updated.contains($0) })
    }

    private func makeCells(
        reusing cell: (MXRoomSummary) -> (any MXKRecentCellDataStoring)? = { _ in nil }
    ) -> [any MXKRecentCellDataStoring] {
        let type = registeredClass(kMXKRecentCellIdentifier, as: (any MXKRecentCellDataStoring.Type).self)
        return (mxSession?.roomsSummaries ?? []).filter(isShown).sorted(by: isBefore).map { summary in
            cell(summary) ?? type.init(roomSummary: summary, dataSource: self)
        }
    }

    private func isShown(_ room: MXRoomSummary) -> Bool {
        guard !room.hiddenFromUser, room.membership == .join || room.membership == .invite else { return false }
        let fits =
            switch filter {
            case .all: room.roomType != "m.space"
            case .unread: room.isUnread
            case .highlights: room.highlightCount > 0
            case .invites: room.membership == .invite
            case .direct: room.isDirect
            case .favourites: room.tags["m.favourite"] != nil
            case .lowPriority: room.tags["m.lowpriority"] != nil
            case .tag(let tag): room.tags[tag] != nil
            case .space(let space): isChild(room.roomId, of: space)
            }
        guard fits, !patterns.isEmpty else { return fits }
        let names = [room.displayName, room.canonicalAlias, room.directUserId].compactMap { $0 }
        return patterns.contains { pattern in
            names.contains { $0.range(of: pattern, options: [.caseInsensitive, .diacriticInsensitive]) != nil }
        }
    }

    private func isChild(_ roomId: String, of space: String) -> Bool {
        let child = mxSession?.room(withRoomId: space)?.state?.event(type: "m.space.child", key: roomId)
        return child?.contentJSON["via"]?.array?.isEmpty == false
    }

    private func rank(_ room: MXRoomSummary) -> Int {
        guard order == .unreadFirst else { return 0 }
        return room.highlightCount > 0 || room.membership == .invite ? 0 : room.isUnread ? 1 : 2
    }

    func isBefore(_ left: MXRoomSummary, _ right: MXRoomSummary) -> Bool {
        if order == .name {
            let result = left.displayName.localizedCaseInsensitiveCompare(right.displayName)
            return result == .orderedSame ? left.roomId < right.roomId : result == .orderedAscending
        }
        if rank(left) != rank(right) { return rank(left) < rank(right) }
        if left.lastMessageTs != right.lastMessageTs { return left.lastMessageTs > right.lastMessageTs }
        return left.roomId < right.roomId
    }
}

extension SessionReport {
    /// The rooms whose cells may look different, and whether the list itself may change.
    fileprivate var changedRooms: (ids: Set<String>, listMayChange: Bool) {
        switch self {
        case .sendingChanged(let roomId): return ([roomId], true)
        case .stateChanged: return ([], true)
        case .failed: return ([], false)
        case .notices(let notices):
            var ids: Set<String> = []
            for notice in notices {
                switch notice {
                case .live, .joined, .invited, .left, .gap, .changed, .decrypted, .relationsChanged, .summaryChanged,
                    .unreadChanged, .roomAccountData, .knocked, .echoConfirmed:
                    notice.concernedRoom.map { _ = ids.insert($0) }
                case .directRoomsChanged, .ignoredUsersChanged: ids.insert("")
                case .ephemeral, .accountData, .presence, .toDevice, .encryption: break
                }
            }
            return (ids, !ids.isEmpty)
        }
    }
}
