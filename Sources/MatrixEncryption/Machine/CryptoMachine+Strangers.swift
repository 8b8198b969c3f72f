import JSONBytes

/// Bounds for what anybody may send to this device: it is not to fill the store.
extension CryptoMachine {
    /// Sessions of one device for rooms that are not known to be encrypted.
    private static let strangeSessions = 100
    /// Messages that wait for their devices to be known: how large one is, how many bytes those of one user and of all users
    /// have, and how many users there are.
    private static let (heldMessage, heldOfAUser, held, usersOfHeld) = (65_536, 262_144, 4_194_304, 100)
    private static let holding = "holding"

    // MARK: Sessions

    /// A new session has come for a room. If that is not known to be encrypted, the oldest of the kind gives way to it: the
    /// user may be in the room soon.
    func boundStrangeSessions(
        with new: SessionAddress, from key: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard try !isEncrypted(new.roomId, &turn) else { return }
        let scope = "strange " + key.base64
        var strange: [(number: String, session: SessionAddress)] = []
        var last: UInt64 = 0
        for (number, setting) in try turn.records.values(SettingRecord.self, scope: scope) {
            last = UInt64(number) ?? last
            guard let session = SessionAddress(key: setting.text), session != new,
                try !isEncrypted(session.roomId, &turn)
            else {
                turn.records.remove(.setting, scope: scope, key: number)
                continue
            }
            strange.append((number, session))
        }
        for (number, session) in strange.dropLast(Self.strangeSessions - 1) {
            turn.records.remove(.setting, scope: scope, key: number)
            try forget(session, from: key, &turn)
        }
        turn.records.set(SettingRecord(new.key), scope: scope, key: Self.outboxKey(last + 1))
    }

    private func forget(
        _ session: SessionAddress, from key: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let record: InboundSessionRecord? = try turn.records.value(scope: session.roomId, key: session.sessionId)
        guard let record, record.source == .direct, record.curve25519 == key else { return }
        turn.records.remove(.inboundSession, scope: session.roomId, key: session.sessionId)
        try forgetForBackup(session, &turn)
        if try turn.records.values(InboundSessionRecord.self, scope: session.roomId).isEmpty {
            forgetSessions(of: session.roomId, &turn)
        }
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
