/// The event types in the specification, and any other.
@nonexhaustive
public enum MXEventType: Hashable, Sendable {
    case roomName, roomTopic, roomAvatar, roomMember, roomCreate, roomJoinRules, roomPowerLevels, roomAliases
    case roomCanonicalAlias, roomEncrypted, roomEncryption, roomGuestAccess, roomHistoryVisibility, roomMessage
    case roomRedaction, roomThirdPartyInvite, roomTombStone, roomPinnedEvents, roomServerACL, sticker
    case spaceChild, spaceParent
    case reaction, receipt, typing, presence, fullyRead, tag, direct, pushRules, ignoredUserList, markedUnread
    case callInvite, callCandidates, callAnswer, callHangup, callReject
    case pollStart, pollResponse, pollEnd
    case custom(String)

    private static let names: [(MXEventType, String)] = [
        (.roomName, "m.room.name"), (.roomTopic, "m.room.topic"), (.roomAvatar, "m.room.avatar"),
        (.roomMember, "m.room.member"), (.roomCreate, "m.room.create"), (.roomJoinRules, "m.room.join_rules"),
        (.roomPowerLevels, "m.room.power_levels"), (.roomAliases, "m.room.aliases"),
        (.roomCanonicalAlias, "m.room.canonical_alias"), (.roomEncrypted, "m.room.encrypted"),
        (.roomEncryption, "m.room.encryption"), (.roomGuestAccess, "m.room.guest_access"),
        (.roomHistoryVisibility, "m.room.history_visibility"), (.roomMessage, "m.room.message"),
        (.roomRedaction, "m.room.redaction"), (.roomThirdPartyInvite, "m.room.third_party_invite"),
        (.roomTombStone, "m.room.tombstone"), (.roomPinnedEvents, "m.room.pinned_events"),
        (.roomServerACL, "m.room.server_acl"), (.sticker, "m.sticker"), (.spaceChild, "m.space.child"),
        (.spaceParent, "m.space.parent"), (.reaction, "m.reaction"), (.receipt, "m.receipt"), (.typing, "m.typing"),
        (.presence, "m.presence"), (.fullyRead, "m.fully_read"), (.tag, "m.tag"), (.direct, "m.direct"),
        (.pushRules, "m.push_rules"), (.ignoredUserList, "m.ignored_user_list"), (.markedUnread, "m.marked_unread"),
        (.callInvite, "m.call.invite"), (.callCandidates, "m.call.candidates"), (.callAnswer, "m.call.answer"),
        (.callHangup, "m.call.hangup"), (.callReject, "m.call.reject"), (.pollStart, "m.poll.start"),
        (.pollResponse, "m.poll.response"), (.pollEnd, "m.poll.end"),
    ]
    private static let byName = Dictionary(uniqueKeysWithValues: names.map { ($1, $0) })
    private static let byType = Dictionary(uniqueKeysWithValues: names)

    /// Creates the type with this identifier.
    public init(identifier: String) {
        self = Self.byName[identifier] ?? .custom(identifier)
    }

    /// The type's identifier in the protocol, such as `m.room.message`.
    public var identifier: String {
        if case .custom(let name) = self { name } else { Self.byType[self] ?? "" }
    }
}
