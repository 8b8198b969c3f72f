public import Foundation
public import MatrixProtocol
public import MatrixSDK

/// The identifier of the class that creates the cells of member lists.
public let kMXKRoomMemberCellIdentifier = "kMXKRoomMemberCellIdentifier"

/// A member in a list.
@MainActor
public protocol MXKRoomMemberCellDataStoring: MXKCellData {
    /// Creates a cell for a member from the room's state.
    init(
        roomMember member: MXRoomMember, roomState: MXRoomState?,
        andRoomMemberListDataSource memberListDataSource: MXKRoomMemberListDataSource)

    /// The member.
    var roomMember: MXRoomMember { get }
    /// The display name; followed by the id if several members have the same name.
    var memberDisplayName: String? { get }
    /// The power level from 0 to 1, where 1 is the highest level in the room.
    var powerLevel: CGFloat { get }
    /// Whether the member is typing.
    var isTyping: Bool { get set }
    /// Updates the power level and the name from the room's state.
    func update(with roomState: MXRoomState?)
}

/// A member in a list.
@MainActor
open class MXKRoomMemberCellData: MXKCellData, MXKRoomMemberCellDataStoring {
    /// The member.
    public let roomMember: MXRoomMember
    /// The display name; followed by the id if several members have the same name.
    public private(set) var memberDisplayName: String?
    /// The power level from 0 to 1, where 1 is the highest level in the room.
    public private(set) var powerLevel: CGFloat = 0
    /// Whether the member is typing.
    public var isTyping = false
    /// The member's presence.
    public internal(set) var presence = MXPresence.unknown
    /// The data source of the cell.
    public private(set) weak var dataSource: MXKRoomMemberListDataSource?

    /// Creates a cell for a member from the room's state.
    public required init(
        roomMember member: MXRoomMember, roomState: MXRoomState?,
        andRoomMemberListDataSource memberListDataSource: MXKRoomMemberListDataSource
    ) {
        roomMember = member
        dataSource = memberListDataSource
        super.init()
        update(with: roomState)
    }

    open func update(with roomState: MXRoomState?) {
        memberDisplayName = roomState?.members.memberName(roomMember.userId) ?? roomMember.displayname
        guard let levels = roomState?.powerLevels else { return }
        let level = levels.powerLevelOfUser(withUserID: roomMember.userId)
        if level == MXRoomPowerLevels.creatorLevel {
            powerLevel = 1
        } else {
            let highest = levels.users.values.filter { $0 != MXRoomPowerLevels.creatorLevel }.max() ?? 0
            powerLevel = highest > 0 ? min(max(CGFloat(level) / CGFloat(highest), 0), 1) : 0
        }
    }
}

/// The members of a room, those who are present first.
@MainActor
open class MXKRoomMemberListDataSource: MXKDataSource {
    /// The room id.
    public let roomId: String
    /// The settings for the order of members and for which of them to show.
    public var settings: MXKAppSettings { didSet { refresh() } }
    /// The interval within which changes are reported together. The default is half a second.
    public var reportInterval = Duration.milliseconds(500)

    private var cells: [any MXKRoomMemberCellDataStoring] = []
    private var patterns: [String] = []
    private var observer: UUID?
    private let reports = Throttle()
    private var loading: Task<Void, Never>?

    /// Creates a data source for the members of a room. It calls ``MXKDataSource/finalizeInitialization()`` itself.
    public init(roomId: String, andMatrixSession mxSession: MXSession) {
        self.roomId = roomId
        settings = MXKAppSettings.standard()
        super.init(matrixSession: mxSession)
        registerCellDataClass(MXKRoomMemberCellData.self, forCellIdentifier: kMXKRoomMemberCellIdentifier)
        finalizeInitialization()
    }

    private var room: MXRoom? { mxSession?.room(withRoomId: roomId) }

    open override func destroy() {
        if let observer { mxSession?.stopObserving(observer) }
        observer = nil
        cells = []
        super.destroy()
    }

    open override func cancelAllRequests() {
        loading?.cancel()
        loading = nil
    }

    open override func didMXSessionStateChange() {
        guard !isDestroyed, state != .ready else { return }
        if mxSession == nil || mxSession?.state == .closed { return setState(.failed) }
        guard sessionHasData else { return }
        guard let room else { return setState(.failed) }
        if observer == nil {
            let roomId = roomId
            observer = mxSession?.observeReports { [weak self] report in
                guard report.changesMembers(of: roomId) else { return }
                Task { @MainActor in self?.listChanged() }
            }
        }
        cells = makeCells()
        setState(.ready)
        tell(nil)
        // Show the known members first, then all of them once they are loaded.
        loading = Task { [weak self] in
            _ = try? await room.members()
            self?.refresh()
        }
    }

    // MARK: Cells

    /// The number of members shown.
    public var numberOfCells: Int { cells.count }

    /// Returns the member at an index; `nil` if out of range.
    open func cellData(at index: Int) -> (any MXKRoomMemberCellDataStoring)? {
        cells.indices.contains(index) ? cells[index] : nil
    }

    /// Returns the cell height according to the delegate's view class.
    open func cellHeight(at index: Int) -> CGFloat {
        guard let cell = cellData(at: index) else { return 0 }
        return delegate?.cellViewClass(for: cell)?.height(for: cell, withMaximumWidth: .greatestFiniteMagnitude) ?? 0
    }

    /// Shows only members whose name or id contains one of the patterns. Pass `nil` to show all.
    open func search(withPatterns patternsList: [String]?) {
        patterns = (patternsList ?? []).filter { !$0.isEmpty }
        refresh()
    }

    // MARK: Changes

    private func listChanged() {
        reports.run(every: reportInterval) { [weak self] in self?.refresh() }
    }

    private func refresh() {
        guard state == .ready, !isDestroyed else { return }
        reports.wasDone()
        let old = cells
        cells = makeCells()
        let before = Dictionary(old.map { ($0.roomMember.userId, $0) }) { first, _ in first }
        let now = Dictionary(cells.map { ($0.roomMember.userId, $0) }) { first, _ in first }
        tell(
            MXKCellChanges(from: old.map(\.roomMember.userId), to: cells.map(\.roomMember.userId)) { id in
                guard let one = before[id], let other = now[id] else { return false }
                let samePresence =
                    (one as? MXKRoomMemberCellData)?.presence == (other as? MXKRoomMemberCellData)?.presence
                return one.memberDisplayName != other.memberDisplayName || one.powerLevel != other.powerLevel
                    || one.isTyping != other.isTyping || one.roomMember != other.roomMember || !samePresence
            })
    }

    private struct Ranked {
        let cell: any MXKRoomMemberCellDataStoring
        let membership: Int
        let presence: Int
        let lastActive: Duration
        let name: String
    }

    private func makeCells() -> [any MXKRoomMemberCellDataStoring] {
        guard let room, let state = room.state else { return [] }
        let type = registeredClass(kMXKRoomMemberCellIdentifier, as: (any MXKRoomMemberCellDataStoring.Type).self)
        let typing = Set(room.typingUsers)
        let bySeen = settings.sortRoomMembersUsingLastSeenTime
        let ranked = state.members.members.filter(isShown).map { member in
            let cell = type.init(roomMember: member, roomState: state, andRoomMemberListDataSource: self)
            cell.isTyping = typing.contains(member.userId)
            let user = mxSession?.user(withUserId: member.userId)
            (cell as? MXKRoomMemberCellData)?.presence = user?.presence ?? .unknown
            return Ranked(
                cell: cell, membership: Self.rank(member.membership),
                presence: bySeen ? Self.rank(user?.presence) : member.displayname == nil ? 1 : 0,
                lastActive: bySeen ? user?.lastActiveAgo() ?? .seconds(1 << 40) : .zero,
                name: (member.displayname ?? member.userId).folding(
                    options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
        }
        return ranked.sorted { left, right in
            (left.membership, left.presence, left.lastActive, left.name, left.cell.roomMember.userId)
                < (right.membership, right.presence, right.lastActive, right.name, right.cell.roomMember.userId)
        }.map(\.cell)
    }

    private func isShown(_ member: MXRoomMember) -> Bool {
        switch member.membership {
        case .join, .invite: break
        case .leave, .ban: guard settings.showLeftMembersInRoomMemberList else { return false }
        case .knock, .unknown: return false
        @unknown default: return false
        }
        guard !patterns.isEmpty else { return true }
        return patterns.contains { pattern in
            [member.displayname ?? "", member.userId].contains {
                $0.range(of: pattern, options: [.caseInsensitive, .diacriticInsensitive]) != nil
            }
        }
    }

    private static func rank(_ membership: MXMembership) -> Int {
        switch membership {
        case .join: 0
        case .invite: 1
        case .leave: 2
        case .ban: 3
        case .knock, .unknown: 4
        @unknown default: 4
        }
    }

    private static func rank(_ presence: MXPresence?) -> Int {
        switch presence {
        case .online?, .unavailable?: 0
        case .offline?: 1
        case .unknown?, nil: 2
        }
    }
}

extension SessionReport {
    fileprivate func changesMembers(of roomId: String) -> Bool {
        guard case .notices(let notices) = self else { return false }
        return notices.contains { notice in
            switch notice {
            case .live(let live):
                return live.roomId == roomId && ["m.room.member", "m.room.power_levels"].contains(live.event.type)
            case .ephemeral(let event): return event.roomId == roomId && event.type == "m.typing"
            case .presence: return true
            case .gap(let id, _), .summaryChanged(let id): return id == roomId
            case .roomAccountData, .accountData, .toDevice, .joined, .invited, .knocked, .left, .changed, .decrypted,
                .encryption, .relationsChanged, .echoConfirmed, .unreadChanged, .directRoomsChanged,
                .ignoredUsersChanged:
                return false
            }
        }
    }
}
