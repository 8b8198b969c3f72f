package import Basics
import JSONBytes

/// What a session knows of one room.
package struct RoomModel: Sendable {
    package internal(set) var summary: MXRoomSummary
    /// Nil: it is in the store, and nobody has asked for it yet.
    package internal(set) var state: MXRoomState? {
        didSet { isSummaryDue = true }
    }
    /// Names the answer that told of the room as a whole; nil if that was before the start.
    package internal(set) var origin: String?
    /// Whether the summary may say something else than the state does.
    var isSummaryDue = true
    /// Who says something in what was paged through, as they were then. They may have left since: they are no members.
    package internal(set) var earlierMembers: [ByteKey: MXEvent] = [:]
    /// By type.
    package internal(set) var accountData: [ByteKey: MXEvent] = [:]
    /// Without ourselves.
    package internal(set) var typingUsers: [String] = []
    /// What was heard of since the start; the store has what came before.
    package internal(set) var relations = RelationIndex(limit: 2_000)
    /// Events for which the store was asked what others say about them.
    var loadedRelations: Set<ByteKey> = []
    /// ``RelationIndex/evictions`` at that time.
    var evictionsWhenLoaded = 0
    /// The newest redactions of events that are not here: a page that was asked for before may bring those as they were.
    private var redactions: [(target: String, event: MXEvent)] = []
    /// Messages of our own that no sync has brought back, oldest first.
    package internal(set) var outgoing: [MXOutgoingEvent] = []

    init(summary: MXRoomSummary, state: MXRoomState?) {
        self.summary = summary
        self.state = state
    }

    /// Nil as long as the event that says so is not here.
    var version: RoomVersion? { state.flatMap { $0.event(type: "m.room.create") == nil ? nil : $0.version } }

    /// Brings the summary up to the state.
    mutating func refreshSummary(currentUser userId: String, directRooms: MXDictionary<String>) {
        guard isSummaryDue, let state else { return }
        isSummaryDue = false
        let heroes = summary.heroes.isEmpty ? nil : summary.heroes
        if !summary.hasServerCounts {
            summary.joinedMembersCount = state.membersCount(with: .join)
            summary.invitedMembersCount = state.membersCount(with: .invite)
        }
        let (joined, invited) = (summary.joinedMembersCount, summary.invitedMembersCount)
        summary.displayName = RoomName.displayName(
            of: state, heroes: heroes, joinedCount: joined, invitedCount: invited, currentUser: userId)
        summary.avatar = RoomName.avatar(
            of: state, heroes: heroes, joinedCount: joined, invitedCount: invited, currentUser: userId)
        summary.topic = state.topic
        summary.roomType = state.roomType
        summary.canonicalAlias = state.canonicalAlias
        summary.replacementRoomId = state.replacementRoomId
        summary.isEncrypted = summary.isEncrypted || state.isEncrypted
        summary.directUserId = directRooms[summary.roomId]
        summary.isDirect = summary.directUserId != nil
    }

    mutating func note(_ redaction: MXEvent, of target: String) {
        redactions = redactions.suffix(63) + [(target, redaction.compact)]
    }

    /// An event of a page as it is now.
    func current(_ event: MXEvent) -> MXEvent {
        guard let redaction = redactions.last(where: { $0.target.isExactly(event.eventId) })?.event else {
            return event
        }
        return event.pruned(by: redaction, roomVersion: state?.roomVersion)
    }

    /// Takes over room account data that the summary shows.
    mutating func set(accountData event: MXEvent) {
        accountData[event.type] = event.detached
        let content = event.contentJSON
        switch event.type {
        case "m.tag":
            summary.tags = [:]
            for (tag, value) in content["tags"]?.members ?? [] {
                let order = value["order"]
                summary.tags[tag] = .some(order?.double ?? order?.string.flatMap { Double($0) })
            }
        case "m.fully_read": summary.fullyReadEventId = content["event_id"]?.string
        case "m.marked_unread", "com.famedly.marked_unread":
            summary.isMarkedUnread = content["unread"]?.bool ?? false
        default: break
        }
    }
}
