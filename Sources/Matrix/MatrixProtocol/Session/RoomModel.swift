package import Basics
import JSONBytes

/// A session's model of a room.
package struct RoomModel: Sendable {
    package internal(set) var summary: MXRoomSummary
    /// The state; `nil` while it has not been loaded from the store.
    package internal(set) var state: MXRoomState? {
        didSet { isSummaryDue = true }
    }
    /// Identifies the answer that contained the whole room; `nil` if it came before the start.
    package internal(set) var origin: String?
    /// Whether the summary may differ from the state.
    var isSummaryDue = true
    /// The senders of events in loaded pages, as they were then. They may have left since, so they are not members.
    package internal(set) var earlierMembers: [ByteKey: MXEvent] = [:]
    /// The room's account data by type.
    package internal(set) var accountData: [ByteKey: MXEvent] = [:]
    /// The users who are typing, without ourselves.
    package internal(set) var typingUsers: [String] = []
    /// The relations received since the start. Earlier ones are in the store.
    package internal(set) var relations = RelationIndex(limit: 2_000)
    /// The events whose relations were loaded from the store.
    var loadedRelations: Set<ByteKey> = []
    /// The value of ``RelationIndex/evictions`` at that time.
    var evictionsWhenLoaded = 0
    /// The latest redactions of events that are not loaded. A page requested earlier may contain them unredacted.
    private var redactions: [(target: String, event: MXEvent)] = []
    /// Our own messages that no sync has returned yet, oldest first.
    package internal(set) var outgoing: [MXOutgoingEvent] = []

    init(summary: MXRoomSummary, state: MXRoomState?) {
        self.summary = summary
        self.state = state
    }

    /// The room's version; `nil` until the create event is known.
    var version: RoomVersion? { state.flatMap { $0.event(type: "m.room.create") == nil ? nil : $0.version } }

    /// Updates the summary from the state.
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

    /// Returns the current form of an event from a page.
    func current(_ event: MXEvent) -> MXEvent {
        guard let redaction = redactions.last(where: { $0.target.isExactly(event.eventId) })?.event else {
            return event
        }
        return event.pruned(by: redaction, roomVersion: state?.roomVersion)
    }

    /// Applies room account data that appears in the summary.
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
