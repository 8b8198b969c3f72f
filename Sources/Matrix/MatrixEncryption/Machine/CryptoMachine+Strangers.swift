import Basics
import JSONBytes

/// Limits that keep what anyone can send to this device from filling the store.
extension CryptoMachine {
    /// The maximum number of sessions per member and room.
    private static let sessionsOfAMember = 10_000
    /// The limits of strangers' sessions: their total size in bytes, and their number per device, for rooms known to be
    /// encrypted and for others.
    private static let (strangeBytes, strangeSessions, sessionsOfStrangeRooms) = (2_097_152, 1_000, 100)
    /// The limits of messages from unknown devices: the size of one, the sizes in bytes per user and in total, and the
    /// number of users.
    private static let (heldMessage, heldOfAUser, held, usersOfHeld) = (65_536, 262_144, 4_194_304, 100)
    private static let holding = "holding"
    /// The maximum number of devices per user that have only announced themselves.
    private static let unlistedDevices = 100

    // MARK: Channels

    /// Forgets the channels with a key that have no proven owner, after a message from it was refused.
    func forgetUnproved(_ key: Curve25519PublicKey, _ turn: inout CryptoTurn) throws(EncryptionError) {
        for channel in try channels(with: key, &turn) where channel.owner == nil {
            turn.records.remove(.olmSession, scope: key.base64, key: channel.session.id)
        }
    }

    /// Returns whether a device that announces itself can be stored. If not, its messages wait until it is listed.
    func isRoomForUnlisted(_ keys: DeviceKeys, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        if try turn.records.value(DeviceRecord.self, scope: keys.userID, key: keys.deviceID) != nil { return true }
        let unlisted = try turn.records.values(DeviceRecord.self, scope: keys.userID).count { !$0.value.isListed }
        return unlisted < Self.unlistedDevices
    }

    // MARK: Sessions

    /// Stores a session sent by its owner.
    ///
    /// Honest members never lose a session to these limits: a bot may create one for each message, and those of weeks
    /// may arrive at once. Each member therefore has ten thousand per room. Beyond that, the member's own unused
    /// sessions are discarded, oldest first.
    ///
    /// Users who share no known encrypted room with us can come under any number of names. They all share two
    /// megabytes, as do sessions of rooms not known to be encrypted, which the user may join soon. The oldest are
    /// discarded, starting with those of the same device if it has sent many.
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

    // MARK: Members' sessions

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
            // Discard a tenth at once, rather than one at a time.
            count -= try makeRoom(Self.sessionsOfAMember / 10, in: scope, roomId: session.roomId, user, &turn)
        }
        turn.records.set(SettingRecord("\(count) \(numbers[1] + 1)"), scope: "session counts", key: owner)
    }

    /// - Returns: The number of discarded sessions.
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

    /// Returns whether a session has decrypted a message.
    func hasOpened(_ sessionId: String, in roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        try !turn.records.values(MessageIndexRecord.self, scope: roomId + "\n" + sessionId).isEmpty
    }

    // MARK: Strangers' sessions

    /// The space that strangers share: sessions numbered by arrival, each with its size in bytes and its address.
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

    /// Frees an eighth of the space at once.
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

    /// Removes the session with this number from the space.
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

    /// Removes all traces of an unknown room.
    private func tidy(_ roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard try turn.records.values(InboundSessionRecord.self, scope: roomId).isEmpty else { return }
        forgetSessions(of: roomId, &turn)
        try forgetRoomForBackup(roomId, &turn)
    }

    // MARK: Held messages

    /// - Throws: `length` if the message is too large, `tooMany`.
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
