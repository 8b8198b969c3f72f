import Basics
public import JSONBytes
import MatrixProtocol
import Transport

/// Where ``MXSession/rooms()`` and ``MXSession/users()`` live beside the properties of those names: old programs use both.
public protocol MXSessionRooms {
    /// Rooms that we are in.
    var rooms: [MXRoom] { get }
    /// All users of whom something is known, by id.
    var users: [MXUser] { get }
}

extension MXSessionRooms {
    /// Rooms that we are in.
    @discardableResult
    public func rooms() -> [MXRoom] { rooms }

    /// All users of whom something is known, by id.
    public func users() -> [MXUser] { users }
}

extension MXSession {
    /// Rooms that we are in, by id.
    public var rooms: [MXRoom] { core.rooms(.join) }

    /// Rooms that we are invited to, by id, without the invitations of ignored users.
    public var invitedRooms: [MXRoom] {
        core.rooms(.invite).filter { !$0.summary.isIgnoredInvitation }
    }

    /// What lists show of all rooms, the one with the newest message first. Includes invitations, but those of ignored users.
    public var roomsSummaries: [MXRoomSummary] {
        core.account.summaries.filter { !$0.isIgnoredInvitation }
            .sorted { ($0.lastMessageTs, $1.roomId) > ($1.lastMessageTs, $0.roomId) }
    }

    /// A room that we are in, are invited to, or have knocked on.
    public func room(withRoomId roomId: String) -> MXRoom? { core.room(roomId) }

    /// A room by its canonical alias.
    public func room(withAlias alias: String) -> MXRoom? {
        core.account.summaries.first { $0.canonicalAlias == alias }.flatMap { core.room($0.roomId) }
    }

    /// All users of whom something is known, by id.
    public var users: [MXUser] {
        (core.account.model { Array($0.users.values) } ?? []).sorted { $0.userId < $1.userId }
    }

    /// A user of whom something is known: presence.
    public func user(withUserId userId: String) -> MXUser? { core.account.model { $0.users[ByteKey(userId)] } ?? nil }

    /// Direct chats by user.
    public var directRooms: [String: [String]] {
        let users = core.account.model { $0.directUsers } ?? [:]
        return Dictionary(grouping: users, by: \.value).mapValues { $0.map(\.key).sorted() }
    }

    /// Users whose messages are not shown.
    public var ignoredUsers: Set<String> {
        Set(core.account.model { $0.ignoredUsers.map(\.string) } ?? [])
    }

    /// Global account data of a type, such as `m.direct`.
    public func accountData(_ type: String) -> JSONView? {
        (core.account.model { $0.accountData[type] } ?? nil)?.contentJSON
    }

    // MARK: Coming and going

    /// Creates a room, and waits until it is here.
    public func createRoom(parameters: MXRoomCreationParameters) async throws -> MXRoom {
        try await creation(parameters)()
    }

    /// Encodes the parameters, which cannot be sent to another thread.
    ///
    /// - Returns: Creates the room, and waits until it is here.
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

    /// Joins a room, and waits until it is here.
    ///
    /// - Parameter viaServers: Servers that know the room, for an id that ours does not know.
    public func joinRoom(_ roomIdOrAlias: String, viaServers: [String]? = nil) async throws -> MXRoom {
        let summary = core.account.summary(roomIdOrAlias)
        let roomId = try await matrixRestClient.joinRoom(roomIdOrAlias, viaServers: viaServers)
        let room = try await core.appeared(roomId)
        if let summary, summary.membership == .invite, summary.isDirect, let inviter = summary.inviter {
            try await core.addDirectRoom(roomId, with: inviter)
        }
        return room
    }

    /// Leaves a room, or declines an invitation. While the session syncs it waits until the room is gone.
    public func leaveRoom(_ roomId: String) async throws {
        try await matrixRestClient.leaveRoom(roomId)
        try await core.disappeared(roomId)
    }
}
