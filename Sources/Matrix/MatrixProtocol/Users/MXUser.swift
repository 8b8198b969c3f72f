import Basics
import JSONBytes

/// Whether a user is there (client-server specification, "Presence").
public enum MXPresence: String, Sendable, Hashable, Codable {
    /// The server has not said, or something else than the specification's words.
    case unknown
    case online
    /// There, but doing nothing.
    case unavailable
    case offline
}

/// What is known of a user, from presence and from member events.
public struct MXUser: Sendable, Hashable {
    /// The user's id.
    public let userId: String
    /// Nil if the user has none, or it is not known yet.
    public private(set) var displayname: String?
    /// An `mxc:` URL.
    public private(set) var avatarUrl: String?
    /// Whether the user is there.
    public private(set) var presence = MXPresence.unknown
    /// What the user wrote beside it.
    public private(set) var statusMsg: String?
    /// Whether the user is doing something at this moment.
    public private(set) var currentlyActive = false
    private var lastActive: ContinuousClock.Instant?

    /// A user of whom nothing is known.
    public init(userId: String) {
        self.userId = userId
    }

    /// How long ago the user was active, counted on since the server said so; nil if it never did.
    public func lastActiveAgo(at now: ContinuousClock.Instant = .now) -> Duration? {
        lastActive.map { currentlyActive ? .zero : max(.zero, now - $0) }
    }

    /// Takes over what an event `m.presence` says.
    ///
    /// - Returns: Whether anything has changed.
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

    /// Takes over name and avatar of a member event of the user who is in the room.
    ///
    /// - Returns: Whether anything has changed.
    @discardableResult
    package mutating func update(member: MXRoomMember) -> Bool {
        guard member.userId.isExactly(userId), member.membership == .join else { return false }
        let before = self
        (displayname, avatarUrl) = (member.displayname, member.avatarUrl)
        return self != before
    }

    /// A hundred years of milliseconds: more would not say anything.
    private static let longestAgo = 3_155_760_000_000
}
