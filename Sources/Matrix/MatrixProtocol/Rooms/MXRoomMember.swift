import JSONBytes

/// A user's membership in a room, from a member event.
public struct MXRoomMember: Sendable, Hashable {
    /// The change that a member event describes.
    public enum Change: Sendable, Hashable {
        case joined, invited, knocked, left, banned
        /// The user declined the invitation.
        case declined
        /// The user withdrew their own knock.
        case knockTakenBack
        /// Another user removed the member.
        case kicked
        case unbanned
        /// Another user withdrew the invitation.
        case invitationWithdrawn
        /// Another user rejected the knock.
        case knockRefused
        /// The membership is the same: the name, the avatar or nothing visible changed.
        case profileChanged
        case unknown
    }

    /// The member's user id.
    public let userId: String
    /// The name that the user chose: not unique, perhaps empty or misleading. Show ``MXRoomMembers/memberName(_:)``.
    public let displayname: String?
    /// The avatar's `mxc:` URL.
    public let avatarUrl: String?
    /// The user's membership.
    public let membership: MXMembership
    /// The member event.
    public let originalEvent: MXEvent

    /// - Returns: `nil` if `event` is not a member event.
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

    /// The membership before this event; `unknown` if the server did not send it.
    public var prevMembership: MXMembership {
        MXMembership(identifier: originalEvent.prevContent?["membership"]?.string)
    }

    /// The name before this event.
    public var prevDisplayname: String? { originalEvent.prevContent?["displayname"]?.string }

    /// The avatar before this event.
    public var prevAvatarUrl: String? { originalEvent.prevContent?["avatar_url"]?.string }

    /// The user who made the change: the member, or the user who invited, removed or banned them.
    public var originUserId: String { originalEvent.sender }

    /// The token that links the member to an invitation by email.
    public var thirdPartyInviteToken: String? {
        originalEvent.contentJSON["third_party_invite"]?["signed"]?["token"]?.string
    }

    /// Whether an invitation is to a direct chat.
    public var isDirect: Bool { originalEvent.contentJSON["is_direct"]?.bool ?? false }

    /// The reason given by the user who made the change.
    public var reason: String? { originalEvent.contentJSON["reason"]?.string }

    /// The change that this event describes.
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

    /// Returns whether both come from equal events.
    public static func == (lhs: MXRoomMember, rhs: MXRoomMember) -> Bool {
        lhs.userId == rhs.userId && lhs.originalEvent == rhs.originalEvent
    }

    /// Hashes the user id.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(userId)
    }
}
