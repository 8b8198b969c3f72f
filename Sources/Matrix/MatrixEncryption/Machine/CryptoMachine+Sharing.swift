package import Basics
package import JSONBytes

/// A room as somebody wants to send into it now.
package struct RoomToEncrypt: Sendable, Equatable {
    package let roomId: String
    /// All who may read: those who are in it, and those who are invited unless its history is for members alone.
    package let members: [String]
    /// Those of ``members`` who are only invited: no server tells of changes of their devices.
    package let invited: [String]
    /// Whether new members may read what was said before.
    package let isSharedHistory: Bool
    /// Nil for the machine's.
    package let policy: SharingPolicy?
    /// Users whose changed keys the sender knows of, and accepts.
    package let acknowledged: Set<ByteKey>
    /// What is sent is an event of a verification: devices that nobody has verified yet get its key, too. Whatever comes
    /// after it has another one.
    package let isForVerification: Bool

    package init(
        roomId: String, members: [String], invited: [String] = [], isSharedHistory: Bool, policy: SharingPolicy? = nil,
        acknowledged: Set<ByteKey> = [], isForVerification: Bool = false
    ) {
        self.isForVerification = isForVerification
        (self.roomId, self.members, self.invited) = (roomId, members, invited)
        self.isSharedHistory = isSharedHistory
        (self.policy, self.acknowledged) = (policy, acknowledged)
    }
}

/// Why nothing can be encrypted for a room.
package enum SharingError: Error, Sendable, Equatable {
    /// It is encrypted in a way that this library does not know.
    case unknownAlgorithm
    /// Users who were verified, and have other keys now, or a device that they have not signed.
    case notAcknowledged(users: [String])
    /// The server has just refused to take the session for devices of these users: it is tried again a little later.
    case notTaken(users: [String])
    case encryption(EncryptionError)
}

/// Encrypting for a room: who gets the session, when there is a new one (Documentation/Rules/encryption.md, "Sharing a
/// session").
extension CryptoMachine {
    package enum Readiness: Sendable, Equatable {
        /// Everybody who is to has the session.
        case ready
        /// Requests are to be answered first: see ``requests(_:)``.
        case waiting
    }

    // MARK: Which rooms

    /// The room is encrypted, for ever.
    ///
    /// - Parameter content: Of `m.room.encryption`.
    package mutating func noteEncryption(
        of roomId: String, _ content: JSONView, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let isKnown = content["algorithm"]?.string == Algorithm.megolm
        let old: EncryptedRoomRecord? = try turn.records.value(key: roomId)
        guard isKnown || old == nil else { return }
        let settings = EncryptionSettings(
            messages: content["rotation_period_msgs"]?.int, period: content["rotation_period_ms"]?.int)
        var room = old ?? EncryptedRoomRecord(settings: settings, isKnownAlgorithm: isKnown)
        (room.settings, room.isKnownAlgorithm) = (settings, isKnown)
        if room != old { turn.records.set(room, key: roomId) }
    }

    package func isEncrypted(_ roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        try turn.records.value(EncryptedRoomRecord.self, key: roomId) != nil
    }

    /// The next message goes with a new session.
    package mutating func discardSession(of roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        ready[ByteKey(roomId)] = nil
        guard let session: OutboundSessionRecord = try turn.records.value(key: roomId) else { return }
        turn.records.remove(.outboundSession, key: roomId)
        try turn.records.removeAll(.share, scope: session.session.id)
    }

    // MARK: Before a message

    /// Sees to it that everybody who is to read the next message can. As long as a key for it is on its way, it waits: one
    /// that never arrives would be missing for it and for all after it.
    ///
    /// - Parameter hasWaited: Whoever could not be asked for until now, or has given no one-time key, is left out.
    package mutating func prepare(
        _ room: RoomToEncrypt, hasWaited: Bool, _ turn: inout CryptoTurn
    ) throws(SharingError) -> Readiness {
        do throws(EncryptionError) {
            guard let settings: EncryptedRoomRecord = try turn.records.value(key: room.roomId) else {
                throw .missingField
            }
            guard settings.isKnownAlgorithm else { throw .version }
            try refreshInvited(of: room, &turn)
            if try isReady(room, settings.settings, turn: &turn) { return .ready }
            try track(room.members, &turn)
            let isKnown = if hasWaited { true } else { try areKnown(room.members, &turn) }
            guard isKnown else { return .waiting }
        } catch .version {
            throw .unknownAlgorithm
        } catch {
            throw .encryption(error)
        }
        let audience = try audience(of: room, &turn)
        let refused: [String]
        do throws(EncryptionError) {
            refused = try usersWithoutSession(of: room.roomId, audience, &turn)
        } catch {
            throw .encryption(error)
        }
        guard refused.isEmpty else { throw .notTaken(users: refused) }
        do throws(EncryptionError) {
            return try share(with: audience, room, hasWaited: hasWaited, &turn)
        } catch {
            throw .encryption(error)
        }
    }

    /// Somebody sends anew: what has failed is tried at once, unless the server has asked to wait.
    package mutating func retrySharing() {
        let calls: [CryptoRequest.Call] = [
            .queryKeys(users: []), .claimKeys([]), .sendToDevice(type: "", transactionId: ""),
        ]
        for call in calls { pauses[call.kind]?.shorten() }
    }

    /// Asks again, every ten minutes at most, who has logged in or out meanwhile.
    private mutating func refreshInvited(
        of room: RoomToEncrypt, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let due = room.invited.filter { user in
            guard let asked = invitedAsked[ByteKey(user)] else { return true }
            return turn.now < asked || turn.now - asked >= 600_000
        }
        guard !due.isEmpty else { return }
        for user in due { invitedAsked[ByteKey(user)] = turn.now }
        try refresh(due, &turn)
    }

    private func isReady(
        _ room: RoomToEncrypt, _ settings: EncryptionSettings, turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        guard let known = ready[ByteKey(room.roomId)], known.epoch == deviceEpoch, known.room == room,
            let session: OutboundSessionRecord = try turn.records.value(key: room.roomId),
            session.session.id == known.sessionId
        else { return false }
        return !isUsedUp(session, room, settings, turn.now)
    }

    private func isUsedUp(
        _ session: OutboundSessionRecord, _ room: RoomToEncrypt, _ settings: EncryptionSettings, _ now: UInt64
    ) -> Bool {
        // A clock that was put back cannot make a session live longer.
        let isOld = now < session.created || now - session.created >= settings.rotationPeriod
        return isOld || session.messageCount >= settings.rotationMessages || session.settings != settings
            || session.isSharedHistory != room.isSharedHistory
    }

    /// Devices that get the session, and those that are told that they do not.
    private struct Audience {
        var recipients: [DeviceRecord] = []
        var withheld: [(device: DeviceRecord, code: String)] = []
    }

    private func audience(of room: RoomToEncrypt, _ turn: inout CryptoTurn) throws(SharingError) -> Audience {
        var audience = Audience()
        var unacknowledged: [String] = []
        do throws(EncryptionError) {
            let own: EncryptedRoomRecord? = try turn.records.value(key: room.roomId)
            let usual = own?.onlyVerified == true ? .verified : room.policy ?? self.policy
            let policy = room.isForVerification ? .all : usual
            for user in room.members {
                let identity: IdentityRecord? = try turn.records.value(key: user)
                let wasVerified = identity?.wasVerified == true && !user.isExactly(me.user)
                var isUnacknowledged = wasVerified && identity?.hasChanged == true
                // Whoever has replaced our own identity vouches for nobody.
                let isAlarm = user.isExactly(me.user) && identity?.wasVerified == true && identity?.hasChanged == true
                for device in try devices(of: user, &turn) where device.address != me {
                    let trust = try trust(of: device, &turn)
                    if trust.isBlocked {
                        audience.withheld.append((device, "m.blacklisted"))
                        continue
                    }
                    if wasVerified, !trust.isCrossSigned { isUnacknowledged = true }
                    let isIn =
                        switch policy {
                        case .all: true
                        // Nothing vouches for a dehydrated device but its owner's signature. Who was never verified may
                        // have another identity than before: that is told.
                        case .crossSigned:
                            trust.isVerified
                                || !isAlarm && identity?.hasSigned(device.keys) ?? !device.keys.isDehydrated
                        case .verified: trust.isVerified
                        }
                    if isIn {
                        audience.recipients.append(device)
                    } else {
                        audience.withheld.append((device, "m.unverified"))
                    }
                }
                if isUnacknowledged, !room.isForVerification, !room.acknowledged.contains(ByteKey(user)) {
                    unacknowledged.append(user)
                }
            }
        } catch {
            throw .encryption(error)
        }
        guard unacknowledged.isEmpty else { throw .notAcknowledged(users: unacknowledged) }
        return audience
    }

    // MARK: The session

    /// Milliseconds for which a session that the server has refused to take is not given again.
    private static let refusalTime: UInt64 = 10_000

    /// Whose devices could not be given the present session, as the server has just said.
    private func usersWithoutSession(
        of roomId: String, _ audience: Audience, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [String] {
        guard let session: OutboundSessionRecord = try turn.records.value(key: roomId) else { return [] }
        let refused = try turn.records.values(ShareRecord.self, scope: session.session.id).filter {
            $0.value.outcome == .refused && $0.value.time <= turn.now && turn.now - $0.value.time < Self.refusalTime
        }
        guard !refused.isEmpty else { return [] }
        let keys = Set(refused.map { ByteKey($0.key) })
        let users = Set(
            audience.recipients.map(\.address).filter { keys.contains(ByteKey($0.key)) }.map { ByteKey($0.user) })
        return users.map(\.string).sorted()
    }

    private mutating func share(
        with audience: Audience, _ room: RoomToEncrypt, hasWaited: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Readiness {
        let session = try session(for: audience, room, &turn)
        let id = session.session.id
        var shares: [ByteKey: ShareRecord] = [:]
        for (key, share) in try turn.records.values(ShareRecord.self, scope: id) {
            shares[ByteKey(key)] = share
        }
        var (given, unreached): ([DeviceRecord], [DeviceRecord]) = ([], [])
        var (isSending, isClaiming, isIncomplete) = (false, false, false)
        for device in audience.recipients {
            switch state(of: shares[ByteKey(device.address.key)], device, turn.now) {
            case .has: continue
            case .isSending: isSending = true
            case .isUnreachable: isIncomplete = true
            case .lacks:
                if try sendingChannel(with: device.keys.curve25519, &turn) != nil {
                    given.append(device)
                } else if hasGivenNoKey(device.address, turn.now) {
                    unreached.append(device)
                } else {
                    wanted.insert(device.address)
                    isClaiming = true
                }
            }
        }
        if isClaiming, !hasWaited { return .waiting }  // one claim for all
        try give(session, to: given, room, &turn)
        try withhold(audience.withheld, unreached, session, shares, room, &turn)
        guard given.isEmpty, !isSending else { return .waiting }
        // Whoever lacks the session is looked at again before the next message.
        if !isIncomplete, !isClaiming, unreached.isEmpty {
            ready[ByteKey(room.roomId)] = Ready(sessionId: id, epoch: deviceEpoch, room: room)
        }
        return .ready
    }

    /// Whether the server was asked for a key of the device within the last hour, and had none.
    func hasGivenNoKey(_ device: DeviceAddress, _ now: UInt64) -> Bool {
        guard let time = unclaimable[device] else { return false }
        return now >= time && now - time < Self.unwedgingInterval
    }

    private enum ShareState { case has, isSending, isUnreachable, lacks }

    private func state(of share: ShareRecord?, _ device: DeviceRecord, _ now: UInt64) -> ShareState {
        guard let share, share.curve25519 == device.keys.curve25519 else { return .lacks }
        switch share.outcome {
        case .given: return share.wedgingIndex == device.wedgingIndex ? .has : .lacks
        case .sending: return .isSending
        case .withheld, .refused: return .lacks
        case .unreachable:
            return now >= share.time && now - share.time < Self.unwedgingInterval ? .isUnreachable : .lacks
        }
    }

    /// The session that the next message goes with: a new one if somebody has the old one who is not to read on.
    private mutating func session(
        for audience: Audience, _ room: RoomToEncrypt, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> OutboundSessionRecord {
        let settings =
            try turn.records.value(EncryptedRoomRecord.self, key: room.roomId)?.settings ?? EncryptionSettings()
        if let known: OutboundSessionRecord = try turn.records.value(key: room.roomId) {
            let allowed = Set(audience.recipients.map(\.address.key))
            let holders = try turn.records.values(ShareRecord.self, scope: known.session.id)
                .filter { $0.value.outcome != .withheld }  // one that was refused may have arrived before
            if holders.allSatisfy({ allowed.contains($0.key) }), !isUsedUp(known, room, settings, turn.now) {
                return known
            }
            try discardSession(of: room.roomId, &turn)
        }
        let session = OutboundSessionRecord(
            session: OutboundGroupSession(random: turn.random), created: turn.now,
            isSharedHistory: room.isSharedHistory, settings: settings)
        turn.records.set(session, key: room.roomId)
        // Without it our own messages could not be read after a restart.
        try add(
            InboundSessionRecord(
                session: InboundGroupSession(sessionKey: session.session.sessionKey), user: me.user, device: me.device,
                curve25519: account.curve25519.publicKey, ed25519: account.ed25519.publicKey, source: .direct,
                isSharedHistory: room.isSharedHistory),
            to: room.roomId, &turn)
        return session
    }

    private mutating func give(
        _ session: OutboundSessionRecord, to devices: [DeviceRecord], _ room: RoomToEncrypt, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard !devices.isEmpty else { return }
        var content = JSONWriter()
        content.add("algorithm", Algorithm.megolm)
        content.add("room_id", room.roomId)
        content.add("session_id", session.session.id)
        content.add("session_key", UnpaddedBase64.encode(session.session.sessionKey))
        content.add("shared_history", json: room.isSharedHistory ? "true" : "false")
        var messages: [(to: DeviceAddress, content: JSONView)] = []
        for device in devices {
            guard let message = try encrypt("m.room_key", content.view, for: device.keys, &turn) else { continue }
            messages.append((device.address, message))
            turn.records.set(
                ShareRecord(
                    .sending, index: session.session.index, curve25519: device.keys.curve25519,
                    wedgingIndex: device.wedgingIndex, time: turn.now),
                scope: session.session.id, key: device.address.key)
        }
        try post(
            "m.room.encrypted", messages, shares: messages.map { (session.session.id, $0.to) }, &turn)
    }

    /// Tells devices once that they do not get the session, and why.
    private mutating func withhold(
        _ withheld: [(device: DeviceRecord, code: String)], _ unreached: [DeviceRecord],
        _ session: OutboundSessionRecord, _ shares: [ByteKey: ShareRecord], _ room: RoomToEncrypt,
        _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var messages: [(to: DeviceAddress, content: JSONView)] = []
        for (device, code) in withheld + unreached.map({ ($0, "m.no_olm") }) {
            let outcome: ShareRecord.Outcome = code == "m.no_olm" ? .unreachable : .withheld
            let old = shares[ByteKey(device.address.key)]?.outcome
            guard old != .withheld || outcome != .withheld else { continue }
            turn.records.set(
                ShareRecord(
                    outcome, index: session.session.index, curve25519: device.keys.curve25519,
                    wedgingIndex: device.wedgingIndex, time: turn.now),
                scope: session.session.id, key: device.address.key)
            guard old != .unreachable else { continue }
            var content = JSONWriter()
            content.add("algorithm", Algorithm.megolm)
            content.add("sender_key", account.curve25519.publicKey.base64)
            content.add("code", code)
            content.add("reason", Self.reasons[code] ?? code)
            if code != "m.no_olm" {
                content.add("room_id", room.roomId)
                content.add("session_id", session.session.id)
            }
            messages.append((device.address, content.view))
        }
        try post("m.room_key.withheld", messages, shares: [], &turn)
    }

    static let reasons = [
        "m.blacklisted": "The sender has blocked this device.",
        "m.unverified": "The sender gives keys to verified devices only.",
        "m.no_olm": "No secure channel to this device could be made.",
    ]

    // MARK: The message

    /// Encrypts a message with the room's session. The caller commits the turn with the message, then sends it.
    ///
    /// - Parameters:
    ///   - type: Of the event.
    ///   - content: What it says. `m.relates_to` stays outside, for the server.
    /// - Returns: The content of an `m.room.encrypted`.
    /// - Throws: `noSession` if ``prepare(_:hasWaited:_:)`` has made none.
    package mutating func encrypt(
        _ type: String, _ content: JSONView, for roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> JSONView {
        guard var session: OutboundSessionRecord = try turn.records.value(key: roomId) else { throw .noSession }
        var inner = JSONWriter()
        for (key, value) in content.members where !key.isExactly("m.relates_to") { inner.add(key, value) }
        var payload = JSONWriter()
        payload.add("type", type)
        payload.add("content", inner)
        payload.add("room_id", roomId)
        let message = try session.session.encrypt(SecretBytes(payload.text.utf8))
        session.messageCount += 1
        turn.records.set(session, key: roomId)
        turn.records.movesSendingRatchet = true

        var encrypted = JSONWriter()
        encrypted.add("algorithm", Algorithm.megolm)
        encrypted.add("ciphertext", UnpaddedBase64.encode(message))
        encrypted.add("session_id", session.session.id)
        encrypted.add("sender_key", account.curve25519.publicKey.base64)
        encrypted.add("device_id", me.device)
        if let relation = content["m.relates_to"] { encrypted.add("m.relates_to", relation) }
        return encrypted.view
    }
}
