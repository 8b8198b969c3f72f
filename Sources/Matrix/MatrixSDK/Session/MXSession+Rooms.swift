import Basics
public import JSONBytes
import MatrixProtocol
import Transport

/// Provides ``MXSession/rooms()`` and ``MXSession/users()`` next to the properties of the same names; old programs use
/// both.
public protocol MXSessionRooms {
    /// The rooms the user has joined.
    var rooms: [MXRoom] { get }
    /// All known users, by id.
    var users: [MXUser] { get }
}

extension MXSessionRooms {
    /// Returns the rooms the user has joined.
    @discardableResult
    public func rooms() -> [MXRoom] { rooms }

    /// Returns all known users, by id.
    public func users() -> [MXUser] { users }
}

extension MXSession {
    /// The rooms the user has joined, sorted by id.
    public var rooms: [MXRoom] { core.rooms(.join) }

    /// The rooms the user is invited to, sorted by id, without invitations from ignored users.
    public var invitedRooms: [MXRoom] {
        core.rooms(.invite).filter { !$0.summary.isIgnoredInvitation }
    }

    /// The summaries of all rooms including invitations, except those of ignored users. The room with the newest
    /// message comes first.
    public var roomsSummaries: [MXRoomSummary] {
        core.account.summaries.filter { !$0.isIgnoredInvitation }
            .sorted { ($0.lastMessageTs, $1.roomId) > ($1.lastMessageTs, $0.roomId) }
    }

    /// Returns a room that the user has joined, is invited to, or has knocked on.
    public func room(withRoomId roomId: String) -> MXRoom? { core.room(roomId) }

    /// Returns a room by its canonical alias.
    public func room(withAlias alias: String) -> MXRoom? {
        core.account.summaries.first { $0.canonicalAlias == alias }.flatMap { core.room($0.roomId) }
    }

    /// All known users, by id.
    public var users: [MXUser] {
        (core.account.model { Array($0.users.values) } ?? []).sorted { $0.userId < $1.userId }
    }

    /// Returns a known user with their presence.
    public func user(withUserId userId: String) -> MXUser? { core.account.model { $0.users[ByteKey(userId)] } ?? nil }

    /// Direct chats, by user.
    public var directRooms: [String: [String]] {
        let users = core.account.model { $0.directUsers } ?? [:]
        return Dictionary(grouping: users, by: \.value).mapValues { $0.map(\.key).sorted() }
    }

    /// The users whose messages are hidden.
    public var ignoredUsers: Set<String> {
        Set(core.account.model { $0.ignoredUsers.map(\.string) } ?? [])
    }

    /// Returns global account data of a type, such as `m.direct`.
    public func accountData(_ type: String) -> JSONView? {
        (core.account.model { $0.accountData[type] } ?? nil)?.contentJSON
    }

    // MARK: Joining and leaving

    /// Creates a room and waits until the session has it.
    public func createRoom(parameters: MXRoomCreationParameters) async throws -> MXRoom {
        try await creation(parameters)()
    }

    /// Encodes the parameters, which are not sendable.
    ///
    /// - Returns: A closure that creates the room and waits until the session has it.
    package func creation(_ parameters: MXRoomCreationParameters) -> @Sendable () async throws -> MXRoom {
        let (body, creation) = (parameters.encoded, RoomCreation(parameters))
        let directUser = parameters.isDirect ? parameters.inviteArray?.first : nil
        return {
            let roomId = try await self.core.createRoom(body, creation)
            let room = try await self.core.appeared(roomId, creation.isComplete)
            if let directUser { try await self.core.addDirectRoom(roomId, with: directUser) }
            return room
        }
    }

    /// Joins a room and waits until the session has it.
    ///
    /// - Parameter viaServers: Servers that know the room, for an id that the user's own server does not know.
    public func joinRoom(_ roomIdOrAlias: String, viaServers: [String]? = nil) async throws -> MXRoom {
        let summary = core.account.summary(roomIdOrAlias)
        let roomId = try await matrixRestClient.joinRoom(roomIdOrAlias, viaServers: viaServers)
        let room = try await core.appeared(roomId)
        if let summary, summary.membership == .invite, summary.isDirect, let inviter = summary.inviter {
            try await core.addDirectRoom(roomId, with: inviter)
        }
        return room
    }

    /// Leaves a room, or declines an invitation. If the session is syncing, waits until the room is gone.
    public func leaveRoom(_ roomId: String) async throws {
        try await matrixRestClient.leaveRoom(roomId)
        try await core.disappeared(roomId)
    }
}
