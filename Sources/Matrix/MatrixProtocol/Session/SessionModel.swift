package import Basics
import JSONBytes

/// All that a session knows of an account: rooms, account data, users. A value without a network, brought up to date by
/// the answers of `/sync`.
///
/// What changes is returned as ``MXStoreChanges``, to be committed as one, and as notices, to be told after that.
package struct SessionModel: Sendable {
    package let userId: String
    package internal(set) var syncToken: String?
    /// Rooms that we are in, are invited to, or have knocked on.
    package internal(set) var rooms: MXDictionary<RoomModel> = [:]
    /// By type.
    package internal(set) var accountData: [ByteKey: MXEvent] = [:]
    package internal(set) var users: [ByteKey: MXUser] = [:]
    package internal(set) var pushRules = PushRules.none
    package internal(set) var ignoredUsers: Set<ByteKey> = []
    /// The other user of each direct room.
    package internal(set) var directUsers: MXDictionary<String> = [:]
    /// Rooms with messages on their way, and some that had. Few of many rooms: looking at all costs more than a small answer.
    var roomsWithOutgoing: Set<ByteKey> = []

    /// An account of which nothing is known.
    package init(userId: String) {
        self.userId = userId
    }

    /// An account as it was stored.
    package init(userId: String, stored: MXStoredSession, now: ContinuousClock.Instant) {
        self.init(userId: userId)
        syncToken = stored.syncToken
        for summary in stored.summaries {
            let stripped = stored.strippedStates[summary.roomId]
            rooms[summary.roomId] = RoomModel(
                summary: summary, state: stripped.map { MXRoomState(roomId: summary.roomId, events: $0) })
        }
        for event in stored.accountData { set(accountData: event) }
        for (roomId, events) in stored.roomAccountData {
            for event in events { rooms[roomId]?.accountData[event.type] = event }
        }
        for event in stored.presence {
            users[ByteKey(event.sender), default: MXUser(userId: event.sender)].update(presence: event, now: now)
        }
        for event in stored.outgoing { add(outgoing: event) }
    }

    /// Takes over what global account data says.
    mutating func set(accountData event: MXEvent) {
        let event = event.detached  // push rules are views of it
        accountData[event.type] = event
        let content = event.contentJSON
        switch event.type {
        case "m.direct":
            directUsers = [:]
            for (user, rooms) in content.members {
                for room in rooms.array ?? [] { room.string.map { directUsers[$0] = user } }
            }
        case "m.ignored_user_list": ignoredUsers = Set(content["ignored_users"]?.members.map { ByteKey($0.key) } ?? [])
        case "m.push_rules": pushRules = PushRules(content)
        default: break
        }
    }

    /// The room's state was read, unless it is known already.
    package mutating func loaded(_ state: MXRoomState, of roomId: String) {
        if rooms[roomId]?.state == nil { rooms[roomId]?.state = state }
    }

    /// The room's state, from the store if it was not asked for before.
    package mutating func state(of roomId: String, in store: any MXStore) throws(MatrixError) -> MXRoomState? {
        guard let room = rooms[roomId] else { return nil }
        if let state = room.state { return state }
        let state = MXRoomState(roomId: roomId, events: try store.state(of: roomId))
        rooms[roomId]?.state = state
        return state
    }
}
