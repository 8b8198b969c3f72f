import Basics
import JSONBytes

/// Bounds for what anybody may send to this device: it is not to fill the store.
extension CryptoMachine {
    /// Sessions of one member in one room.
    private static let sessionsOfAMember = 10_000
    /// Sessions of strangers: how many bytes all of them have, and how many there are of one device, for rooms that are known
    /// to be encrypted and for others.
    private static let (strangeBytes, strangeSessions, sessionsOfStrangeRooms) = (2_097_152, 1_000, 100)
    /// Messages that wait for their devices to be known: how large one is, how many bytes those of one user and of all users
    /// have, and how many users there are.
    private static let (heldMessage, heldOfAUser, held, usersOfHeld) = (65_536, 262_144, 4_194_304, 100)
    private static let holding = "holding"
    /// Devices of one user that have only announced themselves.
    private static let unlistedDevices = 100

    // MARK: Channels

    /// A message from this key was refused: channels with it that have proved to be nobody's are as good as none.
    func forgetUnproved(_ key: Curve25519PublicKey, _ turn: inout CryptoTurn) throws(EncryptionError) {
        for channel in try channels(with: key, &turn) where channel.owner == nil {
            turn.records.remove(.olmSession, scope: key.base64, key: channel.session.id)
        }
    }

    /// Whether a device that announces itself may be remembered. Otherwise its messages wait until the server lists it.
    func isRoomForUnlisted(_ keys: DeviceKeys, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        if try turn.records.value(DeviceRecord.self, scope: keys.userID, key: keys.deviceID) != nil { return true }
        let unlisted = try turn.records.values(DeviceRecord.self, scope: keys.userID).count { !$0.value.isListed }
        return unlisted < Self.unlistedDevices
    }

    // MARK: Sessions

    /// Takes a session that its owner has sent.
    ///
    /// No honest member of a room loses one by these bounds: a bot may make one for each message, and those of weeks come at
    /// once. So each member has ten thousand in each room; then those of this very member give way with which nothing was read,
    /// the oldest first.
    ///
    /// Whoever is in no encrypted room with us, as far as is known, may come under any number of names. All of them share a
    /// place of two megabytes, and so do sessions of rooms that are not known to be encrypted: the user may be in one soon. The
    /// oldest give way, those of the same device first if it has sent many.
    mutating func take(
        _ new: InboundSessionRecord, in roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let address = SessionAddress(roomId, new.session.id) else { throw .ids }
        let isKnown = try turn.records.value(InboundSessionRecord.self, scope: roomId, key: new.session.id) != nil
        guard try add(new, to: roomId, &turn), !isKnown else { return }
        if try isStrange(address, of: new.user, &turn) {
            try addStrange(new, at: address, &turn)
        } else if !new.user.isExactly(me.user) {
            try countSession(address, of: new.user, &turn)
        }
    }

    private func isStrange(
        _ session: SessionAddress, of user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        guard try isEncrypted(session.roomId, &turn) else { return true }
        if user.isExactly(me.user) { return false }
        return try turn.records.value(TrackedUserRecord.self, key: user)?.isMember != true
    }

    private func forget(
        _ session: SessionAddress, of user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let record: InboundSessionRecord? = try turn.records.value(scope: session.roomId, key: session.sessionId)
        guard let record, record.source == .direct, record.user.isExactly(user) else { return }
        turn.records.remove(.inboundSession, scope: session.roomId, key: session.sessionId)
        unmarkForBackup(session.sessionId, in: session.roomId, &turn)
    }

    // MARK: Sessions of members

    private func countSession(
        _ session: SessionAddress, of user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let owner = session.roomId + "\n" + user
        let known: SettingRecord? = try turn.records.value(scope: "session counts", key: owner)
        var numbers = known?.numbers ?? []
        if numbers.count != 2 { numbers = [0, 0] }
        let scope = "sessions of " + owner
        turn.records.set(SettingRecord(session.sessionId), scope: scope, key: Self.outboxKey(UInt64(numbers[1] + 1)))
        var count = numbers[0] + 1
        if count > Self.sessionsOfAMember {
            // A tenth of them at once, so that it is not to be done for each.
            count -= try makeRoom(Self.sessionsOfAMember / 10, in: scope, roomId: session.roomId, user, &turn)
        }
        turn.records.set(SettingRecord("\(count) \(numbers[1] + 1)"), scope: "session counts", key: owner)
    }

    /// - Returns: How many have given way.
    private func makeRoom(
        _ count: Int, in scope: String, roomId: String, _ user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Int {
        let sessions = try turn.records.values(SettingRecord.self, scope: scope).dropLast()
        var leaving: [(key: String, value: SettingRecord)] = []
        for session in sessions where leaving.count < count {
            if try !hasOpened(session.value.text, in: roomId, &turn) { leaving.append(session) }
        }
        if leaving.isEmpty { leaving = Array(sessions.prefix(count)) }
        for (number, id) in leaving {
            turn.records.remove(.setting, scope: scope, key: number)
            if let session = SessionAddress(roomId, id.text) { try forget(session, of: user, &turn) }
        }
        return leaving.count
    }

    /// Whether a message was read with a session.
    func hasOpened(_ sessionId: String, in roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        try !turn.records.values(MessageIndexRecord.self, scope: roomId + "\n" + sessionId).isEmpty
    }

    // MARK: Sessions of strangers

    /// The place that they share, by numbers in the order of their coming: each with its bytes and its address.
    private static let strange = "strange sessions"

    private struct StrangePlace {
        var first = 1
        var last = 0
        var bytes = 0

        init(_ record: SettingRecord?) {
            guard let numbers = record?.numbers, numbers.count == 3 else { return }
            (first, last, bytes) = (numbers[0], numbers[1], numbers[2])
        }

        var record: SettingRecord { SettingRecord("\(first) \(last) \(bytes)") }
    }

    private static func strangeScope(_ key: Curve25519PublicKey, isOfKnownRooms: Bool) -> String {
        (isOfKnownRooms ? "sessions of stranger " : "strange sessions of ") + key.base64
    }

    private func addStrange(
        _ new: InboundSessionRecord, at address: SessionAddress, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var place = StrangePlace(try turn.records.value(key: Self.strange))
        let size = new.state.count + 2 * address.key.utf8.count
        place.last += 1
        place.bytes += size
        let number = Self.outboxKey(UInt64(place.last))
        turn.records.set(SettingRecord("\(size) \(address.key)"), scope: Self.strange, key: number)
        let isOfKnownRooms = try isEncrypted(address.roomId, &turn)
        let scope = Self.strangeScope(new.curve25519, isOfKnownRooms: isOfKnownRooms)
        var rooms: Set<ByteKey> = []
        let own = try turn.records.values(SettingRecord.self, scope: scope)
        if own.count >= (isOfKnownRooms ? Self.strangeSessions : Self.sessionsOfStrangeRooms) {
            var leaving = own.count / 10
            for (number, setting) in own {
                guard let session = SessionAddress(key: setting.text) else { continue }
                if try isStrange(session, of: new.user, &turn) {
                    guard leaving > 0 else { continue }
                    leaving -= 1
                    try takeStrange(number, &place, &turn)
                    try forget(session, of: new.user, &turn)
                    rooms.insert(ByteKey(session.roomId))
                }
                turn.records.remove(.setting, scope: scope, key: number)
            }
        }
        turn.records.set(SettingRecord(address.key), scope: scope, key: number)
        if place.bytes > Self.strangeBytes { try makeRoomForStrangers(&place, &rooms, &turn) }
        turn.records.set(place.record, key: Self.strange)
        for roomId in rooms { try tidy(roomId.string, &turn) }
    }

    /// An eighth of the place at once.
    private func makeRoomForStrangers(
        _ place: inout StrangePlace, _ rooms: inout Set<ByteKey>, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        while place.bytes > Self.strangeBytes / 8 * 7, place.first < place.last {
            let number = Self.outboxKey(UInt64(place.first))
            place.first += 1
            guard let session = try takeStrange(number, &place, &turn),
                let record: InboundSessionRecord = try turn.records.value(
                    scope: session.roomId, key: session.sessionId)
            else { continue }
            for isOfKnownRooms in [true, false] {
                let scope = Self.strangeScope(record.curve25519, isOfKnownRooms: isOfKnownRooms)
                turn.records.remove(.setting, scope: scope, key: number)
            }
            if try isStrange(session, of: record.user, &turn) {
                try forget(session, of: record.user, &turn)
                rooms.insert(ByteKey(session.roomId))
            } else if !record.user.isExactly(me.user) {
                try countSession(session, of: record.user, &turn)
            }
        }
    }

    /// What has this number leaves the place.
    @discardableResult
    private func takeStrange(
        _ number: String, _ place: inout StrangePlace, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> SessionAddress? {
        guard let entry: SettingRecord = try turn.records.value(scope: Self.strange, key: number),
            let end = entry.text.firstIndex(of: " ")
        else { return nil }
        place.bytes -= entry.numbers.first ?? 0
        turn.records.remove(.setting, scope: Self.strange, key: number)
        return SessionAddress(key: String(entry.text[entry.text.index(after: end)...]))
    }

    /// Nothing may be left of a room that nobody has heard of.
    private func tidy(_ roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard try turn.records.values(InboundSessionRecord.self, scope: roomId).isEmpty else { return }
        forgetSessions(of: roomId, &turn)
        try forgetRoomForBackup(roomId, &turn)
    }

    // MARK: Held messages

    /// - Throws: `length` for a message that is too large, `tooMany`.
    func noteHeld(_ payload: JSONView, of user: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let size = payload.range.count
        guard size <= Self.heldMessage, user.utf8.count <= 255 else { throw .length }
        var (all, own) = (0, 0)
        let users = try turn.records.values(SettingRecord.self, scope: Self.holding)
        for (other, bytes) in users {
            all += Int(bytes.text) ?? 0
            if other.isExactly(user) { own = Int(bytes.text) ?? 0 }
        }
        guard own + size <= Self.heldOfAUser, all + size <= Self.held, own > 0 || users.count < Self.usersOfHeld else {
            throw .tooMany
        }
        turn.records.set(SettingRecord("\(own + size)"), scope: Self.holding, key: user)
    }

    func noteReleased(_ user: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let rest = try turn.records.values(HeldMessageRecord.self, scope: user).reduce(0) {
            $0 + $1.value.payload.range.count
        }
        if rest > 0 {
            turn.records.set(SettingRecord("\(rest)"), scope: Self.holding, key: user)
        } else {
            turn.records.remove(.setting, scope: Self.holding, key: user)
        }
    }
}
