import Basics
import JSONBytes
import Realtime

/// The state of a room at a point in its timeline: the event of each type and state key.
///
/// A value type: a copy does not change when the room does. Copies share storage until one is changed. Properties are
/// read from the events on each access.
public struct MXRoomState: Sendable {
    /// The room.
    public let roomId: String
    /// The known members of the room.
    public private(set) var members = MXRoomMembers()
    /// All events except members, by type and state key.
    private var events: [ByteKey: [ByteKey: MXEvent]] = [:]
    private var encryption: String?
    /// Whether messages must be encrypted. Once true, it stays true.
    public private(set) var isEncrypted = false

    /// Creates an empty state.
    public init(roomId: String) {
        self.roomId = roomId
    }

    /// Creates the state that results from these events; later ones replace earlier ones.
    package init(roomId: String, events: [MXEvent]) {
        self.roomId = roomId
        for event in events { apply(event) }
    }

    // MARK: Changes

    /// Replaces the event with the same type and state key. Ignores events that are not state.
    ///
    /// - Returns: The replaced event.
    @discardableResult
    package mutating func apply(_ event: MXEvent) -> MXEvent? {
        guard let key = event.stateKey else { return nil }
        let type = event.type
        if type == Self.encryptionType {
            isEncrypted = true
            encryption = event.contentJSON["algorithm"]?.string ?? encryption
        }
        return set(event, type, key)
    }

    /// Reverts a state event to the content that it replaced, or removes it. Used when paginating backwards.
    package mutating func rollBack(_ event: MXEvent) {
        guard let key = event.stateKey else { return }
        let type = event.type
        let before = event.replacedEvent
        set(before, type, key)
        if type == Self.encryptionType, before == nil { (isEncrypted, encryption) = (false, nil) }
    }

    /// Replaces an event of the state with its redacted form.
    ///
    /// - Returns: Whether the event was part of the state.
    @discardableResult
    package mutating func replace(_ event: MXEvent) -> Bool {
        guard let key = event.stateKey, self.event(type: event.type, key: key)?.eventId == event.eventId else {
            return false
        }
        set(event, event.type, key)
        return true
    }

    /// Adds members who are not known yet. Used when paginating backwards: they are as they were in that page.
    package mutating func addMissing(_ members: [MXEvent]) {
        for event in members where event.type == Self.memberType {
            if let key = event.stateKey, self.members[key] == nil { set(event.compact, event.type, key) }
        }
    }

    /// Replaces the members with the complete list, skipping those who have left.
    ///
    /// - Parameter before: The members at the time of the request. Members who have changed since are newer and stay.
    package mutating func setMembers(_ list: [MXEvent], before: MXRoomMembers) {
        var listed: Set<ByteKey> = []
        for event in list where event.type == Self.memberType {
            guard let userId = event.stateKey else { continue }
            listed.insert(ByteKey(userId))
            let known = members[userId]?.eventId
            if known == nil || known == before[userId]?.eventId && known != event.eventId {
                set(event.compact, event.type, userId)
            }
        }
        for member in members.members where !listed.contains(ByteKey(member.userId)) && member.membership != .leave {
            let isOld = member.originalEvent.eventId == before[member.userId]?.eventId
            if isOld { set(nil, Self.memberType, member.userId) }
        }
    }

    /// Forgets the members when they are no longer known.
    mutating func forgetMembers() { members = MXRoomMembers() }

    @discardableResult
    private mutating func set(_ event: MXEvent?, _ type: String, _ key: String) -> MXEvent? {
        if type == Self.memberType { return members.set(event, for: key) }
        let (type, key) = (ByteKey(type), ByteKey(key))
        let old = events[type]?[key]
        if let event {
            events[type, default: [:]][key] = event
        } else if old != nil {
            events[type]?[key] = nil
            if events[type]?.isEmpty == true { events[type] = nil }
        }
        return old
    }

    private static let memberType = "m.room.member"
    private static let encryptionType = "m.room.encryption"

    // MARK: Events

    /// Returns the event with a type and state key.
    public func event(type: String, key: String = "") -> MXEvent? {
        type == Self.memberType ? members[key] : events[ByteKey(type)]?[ByteKey(key)]
    }

    /// Returns all events of a type, in no particular order.
    public func stateEvents(with type: MXEventType) -> [MXEvent] {
        let name = type.identifier
        return name == Self.memberType ? members.all : events[ByteKey(name)].map { Array($0.values) } ?? []
    }

    /// All events of the state, in no particular order.
    public var stateEvents: [MXEvent] {
        events.values.flatMap(\.values) + members.all
    }

    /// The number of events.
    public var count: Int { members.count + events.values.reduce(0) { $0 + $1.count } }

    private func content(_ type: String, _ key: String = "") -> JSONView? {
        events[ByteKey(type)]?[ByteKey(key)]?.contentJSON
    }

    private func text(_ type: String, _ field: String) -> String? {
        content(type)?[field]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    // MARK: Name and aliases

    /// The name; `nil` if it is missing or empty.
    public var name: String? { text("m.room.name", "name") }

    /// The topic.
    public var topic: String? { text("m.room.topic", "topic") }

    /// The avatar's `mxc:` URL.
    public var avatar: String? { text("m.room.avatar", "url") }

    /// The canonical alias.
    public var canonicalAlias: String? { text("m.room.canonical_alias", "alias") }

    /// The canonical alias and the alternative ones; in old rooms also those that each server has published.
    public var aliases: [String] {
        var aliases = canonicalAlias.map { [$0] } ?? []
        aliases += content("m.room.canonical_alias")?["alt_aliases"]?.array?.compactMap(\.string) ?? []
        for (_, event) in (events[ByteKey("m.room.aliases")] ?? [:]).sorted(by: { $0.key.string < $1.key.string }) {
            aliases += event.contentJSON["aliases"]?.array?.compactMap(\.string) ?? []
        }
        var seen: Set<ByteKey> = []
        return aliases.filter { seen.insert($0) }
    }

    // MARK: Access

    /// The join rule; `invite` if the event is missing or its value is not in the specification.
    public var joinRule: MXRoomJoinRule {
        content("m.room.join_rules")?["join_rule"]?.string.flatMap { MXRoomJoinRule(rawValue: $0) } ?? .invite
    }

    /// Whether anyone may join.
    public var isJoinRulePublic: Bool { joinRule == .public }

    /// The rooms whose members may join, with the rules `restricted` and `knockRestricted`.
    public var joinRuleAllowedRooms: [String] {
        content("m.room.join_rules")?["allow"]?.array?.compactMap { condition in
            condition["type"]?.string == "m.room_membership" ? condition["room_id"]?.string : nil
        } ?? []
    }

    /// The rule for who may read messages from before they joined.
    public var historyVisibility: MXRoomHistoryVisibility {
        content("m.room.history_visibility")?["history_visibility"]?.string
            .flatMap { MXRoomHistoryVisibility(rawValue: $0) } ?? .shared
    }

    /// Whether guests may join.
    public var guestAccess: MXRoomGuestAccess {
        content("m.room.guest_access")?["guest_access"]?.string.flatMap { MXRoomGuestAccess(rawValue: $0) }
            ?? .forbidden
    }

    // MARK: Creation and replacement

    /// The user who created the room: the sender of its first event.
    public var creatorUserId: String? {
        guard let create = event(type: "m.room.create") else { return nil }
        if !version.hasNewRedactions, let creator = create.contentJSON["creator"]?.string { return creator }
        return create.sender.isEmpty ? nil : create.sender
    }

    /// Since room version 12, the other users with the rights of the creator.
    public var additionalCreators: [String] {
        guard version.creatorsAreAboveAll else { return [] }
        return content("m.room.create")?["additional_creators"]?.array?.compactMap(\.string) ?? []
    }

    /// The room's version, such as `12`; `1` if not specified.
    public var roomVersion: String { text("m.room.create", "room_version") ?? "1" }

    package var version: RoomVersion { RoomVersion(text("m.room.create", "room_version")) }

    /// The room's type, such as `m.space`; `nil` for a plain room.
    public var roomType: String? { text("m.room.create", "type") }

    /// Whether the room is a space.
    public var isSpace: Bool { roomType == "m.space" }

    /// The room that this one replaces.
    public var predecessorRoomId: String? { content("m.room.create")?["predecessor"]?["room_id"]?.string }

    /// The reason why the room was closed; `nil` while it is open.
    public var tombStoneContent: MXRoomTombStoneContent? {
        content("m.room.tombstone").map {
            MXRoomTombStoneContent(body: $0["body"]?.string ?? "", replacementRoomId: $0["replacement_room"]?.string)
        }
    }

    /// Whether another room has replaced this one.
    public var isObsolete: Bool { event(type: "m.room.tombstone") != nil }

    /// The room that replaces this one.
    public var replacementRoomId: String? { tombStoneContent?.replacementRoomId }

    // MARK: Other

    /// The encryption algorithm; `nil` without encryption, or if no algorithm is named.
    public var encryptionAlgorithm: String? { encryption }

    /// The power levels. They are read on each access, so keep the value for several queries.
    public var powerLevels: MXRoomPowerLevels {
        MXRoomPowerLevels(
            content("m.room.power_levels"), creators: (creatorUserId.map { [$0] } ?? []) + additionalCreators,
            roomVersion: version)
    }

    /// The ids of the pinned events, in order of pinning.
    public var pinnedEvents: [String] {
        content("m.room.pinned_events")?["pinned"]?.array?.compactMap(\.string) ?? []
    }

    /// The pending invitations by email.
    public var thirdPartyInvites: [MXRoomThirdPartyInvite] {
        (events[ByteKey("m.room.third_party_invite")] ?? [:]).compactMap { token, event in
            guard let name = event.contentJSON["display_name"]?.string else { return nil }
            return MXRoomThirdPartyInvite(token: token.string, displayname: name, sender: event.sender)
        }
    }

    /// Returns the number of members with a membership. With lazy loading, the summary is more accurate.
    public func membersCount(with membership: MXMembership) -> Int { members.count(of: membership) }

    /// Returns whether a user's member event marks the room as a direct chat. Only meaningful for the current user.
    public func isDirect(_ userId: String) -> Bool { members.member(withUserId: userId)?.isDirect ?? false }
}

/// The rule for who may join a room.
public enum MXRoomJoinRule: String, Sendable, Hashable, Codable {
    case `public`
    case invite
    case knock
    case restricted
    case knockRestricted = "knock_restricted"
    case `private`
}

/// The rule for who may read messages from before they joined.
public enum MXRoomHistoryVisibility: String, Sendable, Hashable, Codable {
    case worldReadable = "world_readable"
    case shared
    case invited
    case joined
}

/// The rule for guests joining a room.
public enum MXRoomGuestAccess: String, Sendable, Hashable, Codable {
    case canJoin = "can_join"
    case forbidden
}

/// The content of a tombstone, in a room that was replaced.
public struct MXRoomTombStoneContent: Sendable, Hashable {
    /// The reason given by the user who replaced the room.
    public let body: String
    /// The id of the room to join instead.
    public let replacementRoomId: String?
}

/// A pending invitation by email.
public struct MXRoomThirdPartyInvite: Sendable, Hashable {
    /// The token that links the invitation to the member who accepts it.
    public let token: String
    /// The name to show for the invited person: part of their address.
    public let displayname: String
    /// The user who sent the invitation.
    public let sender: String
}
