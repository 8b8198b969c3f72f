import Basics
import JSONBytes
import Realtime

/// The state of a room at one point of its timeline: the event of each type and state key.
///
/// A value: a copy stays as it is when the room goes on. Copies share what they have in common until one is changed.
/// What is asked for is read from the events at each call.
public struct MXRoomState: Sendable {
    /// The room.
    public let roomId: String
    /// What it knows of the room's members.
    public private(set) var members = MXRoomMembers()
    /// All but members, by type and state key.
    private var events: [ByteKey: [ByteKey: MXEvent]] = [:]
    private var encryption: String?
    /// Whether messages must be encrypted. Never goes back.
    public private(set) var isEncrypted = false

    /// A state without events.
    public init(roomId: String) {
        self.roomId = roomId
    }

    /// The state that these events make, each in the place of the one before it.
    package init(roomId: String, events: [MXEvent]) {
        self.roomId = roomId
        for event in events { apply(event) }
    }

    // MARK: Changes

    /// Puts a state event in its place; others change nothing.
    ///
    /// - Returns: The event that stood there.
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

    /// Goes back to before a state event: to the content that it replaced, or to nothing. For paginating backwards.
    package mutating func rollBack(_ event: MXEvent) {
        guard let key = event.stateKey else { return }
        let type = event.type
        let before = event.replacedEvent
        set(before, type, key)
        if type == Self.encryptionType, before == nil { (isEncrypted, encryption) = (false, nil) }
    }

    /// Puts the redacted form of an event that is part of the state into its place.
    ///
    /// - Returns: Whether it was part of it.
    @discardableResult
    package mutating func replace(_ event: MXEvent) -> Bool {
        guard let key = event.stateKey, self.event(type: event.type, key: key)?.eventId == event.eventId else {
            return false
        }
        set(event, event.type, key)
        return true
    }

    /// Puts members in their places who are not known. For paginating backwards: they are as they were in the page.
    package mutating func addMissing(_ members: [MXEvent]) {
        for event in members where event.type == Self.memberType {
            if let key = event.stateKey, self.members[key] == nil { set(event.compact, event.type, key) }
        }
    }

    /// Takes over the whole list of members, but for those who have left.
    ///
    /// - Parameter before: The members when the list was asked for: who has changed since is newer here.
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

    /// Who is in the room is not known any more.
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

    /// The event of a type and state key.
    public func event(type: String, key: String = "") -> MXEvent? {
        type == Self.memberType ? members[key] : events[ByteKey(type)]?[ByteKey(key)]
    }

    /// All events of a type, in no order.
    public func stateEvents(with type: MXEventType) -> [MXEvent] {
        let name = type.identifier
        return name == Self.memberType ? members.all : events[ByteKey(name)].map { Array($0.values) } ?? []
    }

    /// Every event of the state, in no order.
    public var stateEvents: [MXEvent] {
        events.values.flatMap(\.values) + members.all
    }

    /// How many events there are.
    public var count: Int { members.count + events.values.reduce(0) { $0 + $1.count } }

    private func content(_ type: String, _ key: String = "") -> JSONView? {
        events[ByteKey(type)]?[ByteKey(key)]?.contentJSON
    }

    private func text(_ type: String, _ field: String) -> String? {
        content(type)?[field]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    // MARK: What the room is called

    /// Nil without a name, or with an empty one.
    public var name: String? { text("m.room.name", "name") }

    /// What the room is about.
    public var topic: String? { text("m.room.topic", "topic") }

    /// An `mxc:` URL.
    public var avatar: String? { text("m.room.avatar", "url") }

    /// The alias to show.
    public var canonicalAlias: String? { text("m.room.canonical_alias", "alias") }

    /// The canonical alias and those beside it; in old rooms those that each server has published, too.
    public var aliases: [String] {
        var aliases = canonicalAlias.map { [$0] } ?? []
        aliases += content("m.room.canonical_alias")?["alt_aliases"]?.array?.compactMap(\.string) ?? []
        for (_, event) in (events[ByteKey("m.room.aliases")] ?? [:]).sorted(by: { $0.key.string < $1.key.string }) {
            aliases += event.contentJSON["aliases"]?.array?.compactMap(\.string) ?? []
        }
        var seen: Set<ByteKey> = []
        return aliases.filter { seen.insert($0) }
    }

    // MARK: Who may come and see

    /// Who may join; of anything else than the specification's words, and without the event: `invite`.
    public var joinRule: MXRoomJoinRule {
        content("m.room.join_rules")?["join_rule"]?.string.flatMap { MXRoomJoinRule(rawValue: $0) } ?? .invite
    }

    /// Whether everybody may join.
    public var isJoinRulePublic: Bool { joinRule == .public }

    /// Rooms whose members may join, with the rules `restricted` and `knockRestricted`.
    public var joinRuleAllowedRooms: [String] {
        content("m.room.join_rules")?["allow"]?.array?.compactMap { condition in
            condition["type"]?.string == "m.room_membership" ? condition["room_id"]?.string : nil
        } ?? []
    }

    /// Who may read what was sent before they came.
    public var historyVisibility: MXRoomHistoryVisibility {
        content("m.room.history_visibility")?["history_visibility"]?.string
            .flatMap { MXRoomHistoryVisibility(rawValue: $0) } ?? .shared
    }

    /// Whether guests may join.
    public var guestAccess: MXRoomGuestAccess {
        content("m.room.guest_access")?["guest_access"]?.string.flatMap { MXRoomGuestAccess(rawValue: $0) }
            ?? .forbidden
    }

    // MARK: How it began, and ends

    /// Who created the room: the sender of its first event.
    public var creatorUserId: String? {
        guard let create = event(type: "m.room.create") else { return nil }
        if !version.hasNewRedactions, let creator = create.contentJSON["creator"]?.string { return creator }
        return create.sender.isEmpty ? nil : create.sender
    }

    /// Since room version 12: others with the rights of the creator.
    public var additionalCreators: [String] {
        guard version.creatorsAreAboveAll else { return [] }
        return content("m.room.create")?["additional_creators"]?.array?.compactMap(\.string) ?? []
    }

    /// Such as `12`; `1` if the room does not say.
    public var roomVersion: String { text("m.room.create", "room_version") ?? "1" }

    package var version: RoomVersion { RoomVersion(text("m.room.create", "room_version")) }

    /// Such as `m.space`; nil for a plain room.
    public var roomType: String? { text("m.room.create", "type") }

    /// Whether it is a space.
    public var isSpace: Bool { roomType == "m.space" }

    /// The room that this one replaces.
    public var predecessorRoomId: String? { content("m.room.create")?["predecessor"]?["room_id"]?.string }

    /// Why the room is closed; nil while it is open.
    public var tombStoneContent: MXRoomTombStoneContent? {
        content("m.room.tombstone").map {
            MXRoomTombStoneContent(body: $0["body"]?.string ?? "", replacementRoomId: $0["replacement_room"]?.string)
        }
    }

    /// Whether the room was replaced by another.
    public var isObsolete: Bool { event(type: "m.room.tombstone") != nil }

    /// The room that replaces this one.
    public var replacementRoomId: String? { tombStoneContent?.replacementRoomId }

    // MARK: Else

    /// How messages are encrypted; nil in a room without encryption, or with one that names no algorithm.
    public var encryptionAlgorithm: String? { encryption }

    /// Who may do what. Read anew at each call: keep it for several questions.
    public var powerLevels: MXRoomPowerLevels {
        MXRoomPowerLevels(
            content("m.room.power_levels"), creators: (creatorUserId.map { [$0] } ?? []) + additionalCreators,
            roomVersion: version)
    }

    /// Ids of the pinned events, in the order of pinning.
    public var pinnedEvents: [String] {
        content("m.room.pinned_events")?["pinned"]?.array?.compactMap(\.string) ?? []
    }

    /// Invitations by email that nobody has taken up.
    public var thirdPartyInvites: [MXRoomThirdPartyInvite] {
        (events[ByteKey("m.room.third_party_invite")] ?? [:]).compactMap { token, event in
            guard let name = event.contentJSON["display_name"]?.string else { return nil }
            return MXRoomThirdPartyInvite(token: token.string, displayname: name, sender: event.sender)
        }
    }

    /// How many members of one kind the state knows; with lazy loading the summary knows better.
    public func membersCount(with membership: MXMembership) -> Int { members.count(of: membership) }

    /// Whether the member event of a user, that is of the own one, calls the room a direct chat.
    public func isDirect(_ userId: String) -> Bool { members.member(withUserId: userId)?.isDirect ?? false }
}

/// Who may join a room.
public enum MXRoomJoinRule: String, Sendable, Hashable, Codable {
    case `public`
    case invite
    case knock
    case restricted
    case knockRestricted = "knock_restricted"
    case `private`
}

/// Who may read what was sent before they came.
public enum MXRoomHistoryVisibility: String, Sendable, Hashable, Codable {
    case worldReadable = "world_readable"
    case shared
    case invited
    case joined
}

/// Whether guests may join.
public enum MXRoomGuestAccess: String, Sendable, Hashable, Codable {
    case canJoin = "can_join"
    case forbidden
}

/// What a room that was replaced says.
public struct MXRoomTombStoneContent: Sendable, Hashable {
    /// Why, in the words of who replaced it.
    public let body: String
    /// The room to go to.
    public let replacementRoomId: String?
}

/// An invitation by email that nobody has taken up.
public struct MXRoomThirdPartyInvite: Sendable, Hashable {
    /// What ties it to the member who takes it up.
    public let token: String
    /// What to call who was invited: part of the address.
    public let displayname: String
    /// Who invited.
    public let sender: String
}
