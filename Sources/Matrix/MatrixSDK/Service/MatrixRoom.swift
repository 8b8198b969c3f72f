public import Foundation

/// A room as a list of rooms shows it. A value: later changes make a new one with the same ``id``.
public struct MatrixRoom: Sendable, Hashable, Identifiable {
    /// The room id, such as `!abc:example.org`.
    public let id: String
    /// Its name, or one made of its members.
    public var name: String
    /// What the room is about.
    public var topic: String?
    /// An `mxc:` URL.
    public var avatarURL: String?
    /// Such as `#room:example.org`.
    public var canonicalAlias: String?
    /// How we stand to it.
    public var membership: MXMembership
    /// Whether it is a conversation with one person.
    public var isDirect: Bool
    /// That person.
    public var directUserId: String?
    /// Whether messages are encrypted. That never goes back.
    public var isEncrypted: Bool
    /// Joined and invited.
    public var memberCount: Int
    /// Messages that notify, since we have read; in threads too.
    public var unreadCount: Int
    /// Those of them that mention us.
    public var highlightCount: Int
    /// Those of both in threads, by the id of a thread's first message.
    public var unreadThreads: MXDictionary<MXUnreadThread>
    /// Whether we have marked it as unread.
    public var isMarkedUnread: Bool
    /// The newest that a list shows.
    public var lastMessage: MatrixMessage?

    /// A room; without further words one that we have joined, with nothing in it.
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

    /// Whether there is something to read.
    public var isUnread: Bool { unreadCount > 0 || isMarkedUnread }

    /// When its last message was sent: lists are sorted by it.
    public var lastActivity: Date? { lastMessage?.timestamp }
}

extension MatrixRoom {
    /// What a summary says of a room.
    ///
    /// - Parameter lastMessage: The one that ``MXRoomSummary/lastMessageId`` names.
    public init(_ summary: MXRoomSummary, lastMessage: MatrixMessage? = nil) {
        self.init(
            id: summary.roomId, name: summary.displayName, topic: summary.topic, avatarURL: summary.avatar,
            canonicalAlias: summary.canonicalAlias, membership: summary.membership, isDirect: summary.isDirect,
            directUserId: summary.directUserId, isEncrypted: summary.isEncrypted, memberCount: summary.membersCount,
            unreadCount: summary.notificationCount, highlightCount: summary.highlightCount,
            isMarkedUnread: summary.isMarkedUnread, lastMessage: lastMessage, unreadThreads: summary.unreadThreads)
    }
}
