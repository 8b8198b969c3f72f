import EncryptionTestSupport
import MatrixEncryption

/// The rooms of a homeserver, beside the keys and messages to devices in a ``KeyServer``.
struct EncryptionServer {
    enum Membership: Sendable, Equatable {
        case join, invite, leave
    }

    struct Event: Sendable {
        enum Kind: Sendable {
            case membership(Membership, user: String)
            case visibility(isShared: Bool)
            case message(EncryptedEvent)
        }

        let position: Int
        let kind: Kind
    }

    struct RoomState: Sendable, Equatable {
        var members: [String: Membership] = [:]
        /// Whether new members may read earlier messages.
        var isShared = true

        func users(_ membership: Membership) -> [String] { members.filter { $0.value == membership }.keys.sorted() }

        /// Users who may read current messages.
        var readers: [String] { (users(.join) + invitedReaders).sorted() }

        var invitedReaders: [String] { isShared ? users(.invite) : [] }
    }

    struct Token: Sendable, Equatable {
        var position: Int
        var keys: KeyServer.Token
    }

    struct RoomAnswer: Sendable {
        let room: Int
        /// Whether the user has just joined it.
        let isNew: Bool
        let isLimited: Bool
        let state: RoomState
        let messages: [EncryptedEvent]
    }

    struct SyncAnswer: Sendable {
        let encryption: CryptoSync
        let rooms: [RoomAnswer]
        let left: [Int]
        let token: Token
    }

    let keys = KeyServer()
    private(set) var rooms = [[Event]](repeating: [], count: EncryptionSchedule.rooms)
    private(set) var position = 0
    private var transactions: [String: EncryptedEvent] = [:]

    static func id(_ room: Int) -> String { "!\(room):s" }

    // MARK: Events

    mutating func add(_ kind: Event.Kind, to room: Int) {
        position += 1
        rooms[room].append(Event(position: position, kind: kind))
    }

    /// - Returns: The event; the same one for the same transaction.
    mutating func send(_ event: EncryptedEvent, to room: Int, transactionId: String) -> EncryptedEvent {
        if let known = transactions[transactionId] { return known }
        transactions[transactionId] = event
        add(.message(event), to: room)
        return event
    }

    func state(of room: Int, at position: Int = .max) -> RoomState {
        var state = RoomState()
        for event in rooms[room] where event.position <= position {
            switch event.kind {
            case .membership(let membership, let user): state.members[user] = membership
            case .visibility(let isShared): state.isShared = isShared
            case .message: break
            }
        }
        return state
    }

    func event(_ id: String) -> EncryptedEvent? { transactions[String(id.dropFirst())] }

    // MARK: Syncs

    func now(of device: DeviceAddress) -> Token { Token(position: position, keys: keys.now(of: device)) }

    func sync(_ device: DeviceAddress, since: Token?, limit: Int) -> SyncAnswer {
        let token = now(of: device)
        let start = since?.position ?? 0
        var encryption = keys.sync(device, since: since?.keys ?? .init(messages: 0, changes: token.keys.changes))
        encryption.isInitial = since == nil
        let (before, after) = (partners(of: device.user, at: start), partners(of: device.user))
        let isNew = after.subtracting(before).union(joined(since: start).intersection(after))
        encryption.changed = encryption.changed.filter { after.contains($0) || $0 == device.user } + isNew.sorted()
        encryption.left = before.subtracting(after).sorted()
        var (answers, left): ([RoomAnswer], [Int]) = ([], [])
        for room in rooms.indices {
            let state = state(of: room)
            let wasIn = since != nil && self.state(of: room, at: start).members[device.user] == .join
            guard state.members[device.user] == .join else {
                if wasIn { left.append(room) }
                continue
            }
            let isNew = !wasIn || joined(since: start, in: room).contains(device.user)
            let events = rooms[room].filter { $0.position > (isNew ? 0 : start) }
            guard isNew || !events.isEmpty else { continue }
            let messages = events.suffix(limit).compactMap {
                if case .message(let event) = $0.kind { event } else { nil }
            }
            answers.append(
                RoomAnswer(
                    room: room, isNew: isNew, isLimited: events.count > limit, state: state, messages: messages))
        }
        return SyncAnswer(encryption: encryption, rooms: answers, left: left, token: token)
    }

    /// Users who share a room with the given one.
    private func partners(of user: String, at position: Int = .max) -> Set<String> {
        var partners: Set<String> = []
        for room in rooms.indices {
            let members = state(of: room, at: position).users(.join)
            if members.contains(user) { partners.formUnion(members) }
        }
        return partners.subtracting([user])
    }

    private func joined(since position: Int) -> Set<String> {
        rooms.indices.reduce(into: []) { $0.formUnion(joined(since: position, in: $1)) }
    }

    private func joined(since position: Int, in room: Int) -> Set<String> {
        var users: Set<String> = []
        for event in rooms[room] where event.position > position {
            if case .membership(.join, let user) = event.kind { users.insert(user) }
        }
        return users
    }
}
