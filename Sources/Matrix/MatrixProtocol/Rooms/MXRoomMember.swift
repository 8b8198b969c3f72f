import JSONBytes

/// How one user stands to a room, as a member event says.
public struct MXRoomMember: Sendable, Hashable {
    /// What a member event did.
    public enum Change: Sendable, Hashable {
        case joined, invited, knocked, left, banned
        /// Turned the invitation down.
        case declined
        /// Took back the own knock.
        case knockTakenBack
        /// Removed by another.
        case kicked
        case unbanned
        /// The invitation was taken back by another.
        case invitationWithdrawn
        /// Another refused the knock.
        case knockRefused
        /// Still joined (or still invited …): the name, the avatar, or nothing that shows.
        case profileChanged
        case unknown
    }

    /// Whose membership it is.
    public let userId: String
    /// As the user wrote it: not unique, perhaps empty or misleading. Show ``MXRoomMembers/memberName(_:)``.
    public let displayname: String?
    /// An `mxc:` URL.
    public let avatarUrl: String?
    /// How the user stands to the room.
    public let membership: MXMembership
    /// Where all this was read.
    public let originalEvent: MXEvent

    /// - Returns: Nil if `event` is not of a member.
    public init?(_ event: MXEvent) {
        guard event.type == "m.room.member", let userId = event.stateKey, !userId.isEmpty else { return nil }
        self.init(userId: userId, event)
    }

    init(userId: String, _ event: MXEvent) {
        let content = event.contentJSON
        self.userId = userId
        displayname = content["displayname"]?.string
        avatarUrl = content["avatar_url"]?.string
        membership = MXMembership(identifier: content["membership"]?.string)
        originalEvent = event
    }

    /// Before this event; `unknown` if the server did not say.
    public var prevMembership: MXMembership {
        MXMembership(identifier: originalEvent.prevContent?["membership"]?.string)
    }

    /// The name before this event.
    public var prevDisplayname: String? { originalEvent.prevContent?["displayname"]?.string }

    /// The avatar before this event.
    public var prevAvatarUrl: String? { originalEvent.prevContent?["avatar_url"]?.string }

    /// Who brought this about: the user, or one who invited, removed or banned.
    public var originUserId: String { originalEvent.sender }

    /// Ties the member to an invitation by email.
    public var thirdPartyInviteToken: String? {
        originalEvent.contentJSON["third_party_invite"]?["signed"]?["token"]?.string
    }

    /// Whether an invitation is to a direct chat.
    public var isDirect: Bool { originalEvent.contentJSON["is_direct"]?.bool ?? false }

    /// Why, in the words of who brought it about.
    public var reason: String? { originalEvent.contentJSON["reason"]?.string }

    /// What this event did.
    public var change: Change {
        let isOwn = originUserId == userId
        return switch (membership, prevMembership) {
        case (.join, .join), (.invite, .invite), (.knock, .knock), (.ban, .ban), (.leave, .leave): .profileChanged
        case (.join, _): .joined
        case (.invite, _): .invited
        case (.knock, _): .knocked
        case (.ban, _): .banned
        case (.leave, .ban): isOwn ? .left : .unbanned
        case (.leave, .invite): isOwn ? .declined : .invitationWithdrawn
        case (.leave, .knock): isOwn ? .knockTakenBack : .knockRefused
        case (.leave, .join), (.leave, .unknown): isOwn ? .left : .kicked
        case (.unknown, _): .unknown
        }
    }

    /// Members of equal events.
    public static func == (lhs: MXRoomMember, rhs: MXRoomMember) -> Bool {
        lhs.userId == rhs.userId && lhs.originalEvent == rhs.originalEvent
    }

    /// By user.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(userId)
    }
}
