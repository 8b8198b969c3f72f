import Basics
import JSONBytes

/// A user's presence (client-server specification, "Presence").
public enum MXPresence: String, Sendable, Hashable, Codable {
    /// The server has not reported a presence, or one that is not in the specification.
    case unknown
    case online
    /// Online but idle.
    case unavailable
    case offline
}

/// A user's known properties, from presence and member events.
public struct MXUser: Sendable, Hashable {
    /// The user's id.
    public let userId: String
    /// The display name; `nil` if the user has none, or it is not known yet.
    public private(set) var displayname: String?
    /// The avatar's `mxc:` URL.
    public private(set) var avatarUrl: String?
    /// The user's presence.
    public private(set) var presence = MXPresence.unknown
    /// The user's status message.
    public private(set) var statusMsg: String?
    /// Whether the user is active at this moment.
    public private(set) var currentlyActive = false
    private var lastActive: ContinuousClock.Instant?

    /// Creates a user about whom nothing is known.
    public init(userId: String) {
        self.userId = userId
    }

    /// Returns the time since the user was last active, counted on from the server's report; `nil` if there was none.
    public func lastActiveAgo(at now: ContinuousClock.Instant = .now) -> Duration? {
        lastActive.map { currentlyActive ? .zero : max(.zero, now - $0) }
    }

    /// Applies an `m.presence` event.
    ///
    /// - Returns: Whether anything changed.
    @discardableResult
    package mutating func update(presence event: MXEvent, now: ContinuousClock.Instant) -> Bool {
        guard event.type == "m.presence" else { return false }
        let (content, before) = (event.contentJSON, self)
        presence = content["presence"]?.string.flatMap { MXPresence(rawValue: $0) } ?? .unknown
        statusMsg = content["status_msg"]?.string
        currentlyActive = content["currently_active"]?.bool ?? false
        if let name = content["displayname"]?.string { displayname = name }
        if let avatar = content["avatar_url"]?.string { avatarUrl = avatar }
        if let ago = content["last_active_ago"]?.wholePart, ago >= 0 {
            lastActive = now - .milliseconds(min(ago, Self.longestAgo))
        }
        return self != before
    }

    /// Applies name and avatar from a member event of a user who is in the room.
    ///
    /// - Returns: Whether anything changed.
    @discardableResult
    package mutating func update(member: MXRoomMember) -> Bool {
        guard member.userId.isExactly(userId), member.membership == .join else { return false }
        let before = self
        (displayname, avatarUrl) = (member.displayname, member.avatarUrl)
        return self != before
    }

    /// A hundred years in milliseconds. Longer times are ignored.
    private static let longestAgo = 3_155_760_000_000
}
