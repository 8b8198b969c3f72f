package import Basics
import JSONBytes

/// A session's model of an account: rooms, account data, users. A value without network access, updated by the answers
/// of `/sync`.
///
/// Changes are returned as ``MXStoreChanges``, to commit together, and as notices, to deliver after that.
package struct SessionModel: Sendable {
    package let userId: String
    package internal(set) var syncToken: String?
    /// The rooms that we have joined, are invited to, or have knocked on.
    package internal(set) var rooms: MXDictionary<RoomModel> = [:]
    /// The global account data by type.
    package internal(set) var accountData: [ByteKey: MXEvent] = [:]
    package internal(set) var users: [ByteKey: MXUser] = [:]
    package internal(set) var pushRules = PushRules.none
    package internal(set) var ignoredUsers: Set<ByteKey> = []
    /// The other user of each direct room.
    package internal(set) var directUsers: MXDictionary<String> = [:]
    /// The rooms that have or had pending messages. Looking through all rooms would take longer than a small answer.
    var roomsWithOutgoing: Set<ByteKey> = []

    /// Creates an empty model.
    package init(userId: String) {
        self.userId = userId
    }

    /// Creates a model from a stored session.
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

    /// Applies global account data.
    mutating func set(accountData event: MXEvent) {
        let event = event.detached
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

    /// Stores the room's loaded state, unless it is already known.
    package mutating func loaded(_ state: MXRoomState, of roomId: String) {
        if rooms[roomId]?.state == nil { rooms[roomId]?.state = state }
    }

    /// Returns the room's state, loading it from the store if needed.
    package mutating func state(of roomId: String, in store: any MXStore) throws(MatrixError) -> MXRoomState? {
        guard let room = rooms[roomId] else { return nil }
        if let state = room.state { return state }
        let state = MXRoomState(roomId: roomId, events: try store.state(of: roomId))
        rooms[roomId]?.state = state
        return state
    }
}
