/// What a list of rooms shows of one, kept up by each sync.
public struct MXRoomSummary: Sendable, Hashable, Codable {
    /// The room.
    public let roomId: String
    /// How we stand to it.
    public internal(set) var membership = MXMembership.unknown
    /// The room's name, or one made of its members.
    public internal(set) var displayName = ""
    /// An `mxc:` URL.
    public internal(set) var avatar: String?
    /// What it is about.
    public internal(set) var topic: String?
    /// The alias to show.
    public internal(set) var canonicalAlias: String?
    /// How many are in it.
    public internal(set) var joinedMembersCount = 0
    /// How many are invited.
    public internal(set) var invitedMembersCount = 0
    /// Members after whom an unnamed room is called; the server chooses them.
    public internal(set) var heroes: [String] = []
    /// Counted by the server, in threads too.
    public internal(set) var notificationCount = 0
    /// Those that name us, counted by the server, in threads too.
    public internal(set) var highlightCount = 0
    /// Of the counts above those in threads, by the thread's first event. Not every server counts them apart.
    public var unreadThreads: MXDictionary<MXUnreadThread> { threads ?? [:] }
    /// Nil in stores of programs that did not know them.
    var threads: MXDictionary<MXUnreadThread>?
    /// Counted here: what came after our own read receipt and counts as unread.
    public internal(set) var localUnreadEventCount = 0
    /// Whether the user has marked it as unread.
    public internal(set) var isMarkedUnread = false
    /// Whether it is a direct chat.
    public internal(set) var isDirect = false
    /// The other user of a direct chat.
    public internal(set) var directUserId: String?
    /// Such as `m.space`; nil for a plain room.
    public internal(set) var roomType: String?
    /// Whether its messages are encrypted.
    public internal(set) var isEncrypted = false
    /// Tags with their order, which may be absent.
    public internal(set) var tags: MXDictionary<Double?> = [:]
    /// Replaced by another room that we have joined, or the invitation of a user whom we ignore.
    public internal(set) var hiddenFromUser = false
    /// The newest message that a list shows.
    public internal(set) var lastMessageId: String?
    /// Milliseconds since 1970; 0 without a last message. While there are older messages that were not loaded, it is still that
    /// of a last message that was redacted, so that the room keeps its place in a list.
    public internal(set) var lastMessageTs: UInt64 = 0
    /// How far the user has read.
    public internal(set) var fullyReadEventId: String?
    /// Who invited us.
    public internal(set) var inviter: String?

    /// The room that replaces it.
    package internal(set) var replacementRoomId: String?
    /// Where ``MXStore`` ends and the server's history goes on; nil when all of it is here.
    package var paginationToken: String?
    /// Whether the counts of members are the server's; else they are those of the state.
    package internal(set) var hasServerCounts = false
    /// Whether the state knows every member, not only those who were needed.
    package internal(set) var membersAreComplete = false

    /// Whether it is an invitation that nobody wants to see.
    package var isIgnoredInvitation: Bool { membership == .invite && hiddenFromUser }

    /// How many are in it or invited.
    public var membersCount: Int { joinedMembersCount + invitedMembersCount }
    /// Order among the favourites; nil if it is none.
    public var favoriteTagOrder: Double? { tags["m.favourite"].map { $0 ?? 0 } }

    package init(roomId: String) {
        self.roomId = roomId
    }
}

extension MXRoomSummary {
    /// - Parameter last: Its id and time; nil when nothing that is loaded says something.
    mutating func setLastMessage(_ last: (id: String, ts: UInt64)?) {
        lastMessageId = last?.id
        if let last { lastMessageTs = last.ts } else if paginationToken == nil { lastMessageTs = 0 }
    }
}
