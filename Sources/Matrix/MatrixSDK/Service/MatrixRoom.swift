public import Foundation

/// A room as shown in a list of rooms. This is a value: later changes create a new one with the same ``id``.
public struct MatrixRoom: Sendable, Hashable, Identifiable {
    /// The room id, such as `!abc:example.org`.
    public let id: String
    /// The room's name, or a name made from its members.
    public var name: String
    /// The room's topic.
    public var topic: String?
    /// The avatar, an `mxc:` URL.
    public var avatarURL: String?
    /// The canonical alias, such as `#room:example.org`.
    public var canonicalAlias: String?
    /// The user's membership.
    public var membership: MXMembership
    /// Whether the room is a direct chat with one person.
    public var isDirect: Bool
    /// The other user of a direct chat.
    public var directUserId: String?
    /// Whether messages are encrypted. This never reverts.
    public var isEncrypted: Bool
    /// The number of joined and invited members.
    public var memberCount: Int
    /// The number of unread messages that notify, including those in threads.
    public var unreadCount: Int
    /// The number of unread messages that mention the user.
    public var highlightCount: Int
    /// Both counts for threads, by the id of a thread's first message.
    public var unreadThreads: MXDictionary<MXUnreadThread>
    /// Whether the user has marked it as unread.
    public var isMarkedUnread: Bool
    /// The newest message that a list shows.
    public var lastMessage: MatrixMessage?

    /// Creates a room; by default one that the user has joined, without messages.
    public init(
        id: String, name: String, topic: String? = nil, avatarURL: String? = nil, canonicalAlias: String? = nil,
        membership: MXMembership = .join, isDirect: Bool = false, directUserId: String? = nil,
        isEncrypted: Bool = false, memberCount: Int = 0, unreadCount: Int = 0, highlightCount: Int = 0,
        isMarkedUnread: Bool = false, lastMessage: MatrixMessage? = nil,
        unreadThreads: MXDictionary<MXUnreadThread> = [:]
    ) {
        (self.id, self.name, self.topic, self.avatarURL) = (id, name, topic, avatarURL)
        (self.canonicalAlias, self.membership) = (canonicalAlias, membership)
        (self.isDirect, self.directUserId, self.isEncrypted) = (isDirect, directUserId, isEncrypted)
        (self.memberCount, self.unreadCount, self.highlightCount) = (memberCount, unreadCount, highlightCount)
        (self.isMarkedUnread, self.lastMessage) = (isMarkedUnread, lastMessage)
        self.unreadThreads = unreadThreads
    }

    /// Whether there is anything to read.
    public var isUnread: Bool { unreadCount > 0 || isMarkedUnread }

    /// The time of the last message, by which lists are sorted.
    public var lastActivity: Date? { lastMessage?.timestamp }
}

extension MatrixRoom {
    /// Creates a room from a summary.
    ///
    /// - Parameter lastMessage: The message with the id ``MXRoomSummary/lastMessageId``.
    public init(_ summary: MXRoomSummary, lastMessage: MatrixMessage? = nil) {
        self.init(
            id: summary.roomId, name: summary.displayName, topic: summary.topic, avatarURL: summary.avatar,
            canonicalAlias: summary.canonicalAlias, membership: summary.membership, isDirect: summary.isDirect,
            directUserId: summary.directUserId, isEncrypted: summary.isEncrypted, memberCount: summary.membersCount,
            unreadCount: summary.notificationCount, highlightCount: summary.highlightCount,
            isMarkedUnread: summary.isMarkedUnread, lastMessage: lastMessage, unreadThreads: summary.unreadThreads)
    }
}
