/// A room's entry in a room list, updated by each sync.
public struct MXRoomSummary: Sendable, Hashable, Codable {
    /// The room id.
    public let roomId: String
    /// Our membership in the room.
    public internal(set) var membership = MXMembership.unknown
    /// The room's name, or one made from its members.
    public internal(set) var displayName = ""
    /// The avatar's `mxc:` URL.
    public internal(set) var avatar: String?
    /// The room's topic.
    public internal(set) var topic: String?
    /// The canonical alias.
    public internal(set) var canonicalAlias: String?
    /// The number of joined members.
    public internal(set) var joinedMembersCount = 0
    /// The number of invited members.
    public internal(set) var invitedMembersCount = 0
    /// The members that name an unnamed room, chosen by the server.
    public internal(set) var heroes: [String] = []
    /// The number of unread notifications according to the server, including threads.
    public internal(set) var notificationCount = 0
    /// The number of unread highlights according to the server, including threads.
    public internal(set) var highlightCount = 0
    /// The part of these counts that is in threads, by root event. Not every server counts threads separately.
    public var unreadThreads: MXDictionary<MXUnreadThread> { threads ?? [:] }
    /// `nil` in stores written by older versions.
    var threads: MXDictionary<MXUnreadThread>?
    /// The number of unread events since our own read receipt, counted locally.
    public internal(set) var localUnreadEventCount = 0
    /// Whether the user has marked the room as unread.
    public internal(set) var isMarkedUnread = false
    /// Whether the room is a direct chat.
    public internal(set) var isDirect = false
    /// The other user of a direct chat.
    public internal(set) var directUserId: String?
    /// The room's type, such as `m.space`; `nil` for a plain room.
    public internal(set) var roomType: String?
    /// Whether the room's messages are encrypted.
    public internal(set) var isEncrypted = false
    /// The tags and their order, which may be absent.
    public internal(set) var tags: MXDictionary<Double?> = [:]
    /// Whether the room is hidden: we have joined its replacement, or it is an invitation from an ignored user.
    public internal(set) var hiddenFromUser = false
    /// The id of the last message to show in a list.
    public internal(set) var lastMessageId: String?
    /// The time of the last message in milliseconds since 1970; 0 if there is none. If that message is redacted and
    /// older ones are not loaded, the time stays, so that the room keeps its place in a list.
    public internal(set) var lastMessageTs: UInt64 = 0
    /// The event up to which the user has read.
    public internal(set) var fullyReadEventId: String?
    /// The user who invited us.
    public internal(set) var inviter: String?

    /// The id of the room that replaces this one.
    package internal(set) var replacementRoomId: String?
    /// The token where the server's history continues before ``MXStore``; `nil` if all of it is stored.
    package var paginationToken: String?
    /// Whether the member counts come from the server. Otherwise they come from the state.
    package internal(set) var hasServerCounts = false
    /// Whether the state contains all members, not only the needed ones.
    package internal(set) var membersAreComplete = false

    /// Whether this is a hidden invitation.
    package var isIgnoredInvitation: Bool { membership == .invite && hiddenFromUser }

    /// The number of joined and invited members.
    public var membersCount: Int { joinedMembersCount + invitedMembersCount }
    /// The order among the favourites; `nil` if the room is not a favourite.
    public var favoriteTagOrder: Double? { tags["m.favourite"].map { $0 ?? 0 } }

    package init(roomId: String) {
        self.roomId = roomId
    }
}

extension MXRoomSummary {
    /// - Parameter last: The id and time of the message; `nil` if no loaded event is one.
    mutating func setLastMessage(_ last: (id: String, ts: UInt64)?) {
        lastMessageId = last?.id
        if let last { lastMessageTs = last.ts } else if paginationToken == nil { lastMessageTs = 0 }
    }
}
