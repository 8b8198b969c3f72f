package import Basics
package import JSONBytes

/// A room to encrypt a message for.
package struct RoomToEncrypt: Sendable, Equatable {
    package let roomId: String
    /// All users who may read: the members and, unless the history is for members only, the invited users.
    package let members: [String]
    /// Those of ``members`` who are only invited. No server reports changes of their devices.
    package let invited: [String]
    /// Whether new members may read earlier messages.
    package let isSharedHistory: Bool
    /// The room's policy; `nil` uses the machine's.
    package let policy: SharingPolicy?
    /// The users whose changed keys the sender has acknowledged.
    package let acknowledged: Set<ByteKey>
    /// Whether the message is a verification event. Its key also goes to devices that are not verified yet, and later
    /// messages use another one.
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

/// The reason why nothing can be encrypted for a room.
package enum SharingError: Error, Sendable, Equatable {
    /// This library does not support the encryption algorithm.
    case unknownAlgorithm
    /// These users were verified, and now have other keys or a device that they have not signed.
    case notAcknowledged(users: [String])
    /// The server has just refused the session for devices of these users. It is retried a little later.
    case notTaken(users: [String])
    case encryption(EncryptionError)
}

/// Encryption for a room: who receives the session, and when it is replaced (Documentation/Rules/encryption.md,
/// "Sharing a session").
extension CryptoMachine {
    package enum Readiness: Sendable, Equatable {
        /// All intended devices have the session.
        case ready
        /// Requests must be answered first: see ``requests(_:)``.
        case waiting
    }

    // MARK: Encrypted rooms

    /// Records that the room is encrypted. This is permanent.
    ///
    /// - Parameter content: The content of `m.room.encryption`.
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

    /// Discards the session, so that the next message uses a new one.
    package mutating func discardSession(of roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        ready[ByteKey(roomId)] = nil
        guard let session: OutboundSessionRecord = try turn.records.value(key: roomId) else { return }
        turn.records.remove(.outboundSession, key: roomId)
        try turn.records.removeAll(.share, scope: session.session.id)
    }

    // MARK: Preparing a message

    /// Makes sure that all intended devices can decrypt the next message. Waits while a key is being sent: if it never
    /// arrived, it would be missing for this message and all later ones.
    ///
    /// - Parameter hasWaited: Whether to leave out users not queried so far, and devices that gave no one-time key.
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

    /// Retries failed requests at once when the user sends again, unless the server has asked to wait.
    package mutating func retrySharing() {
        let calls: [CryptoRequest.Call] = [
            .queryKeys(users: []), .claimKeys([]), .sendToDevice(type: "", transactionId: ""),
        ]
        for call in calls { pauses[call.kind]?.shorten() }
    }

    /// Checks again, at most every ten minutes, for logins and logouts of invited users.
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
        // A clock that was set back must not extend a session's life.
        let isOld = now < session.created || now - session.created >= settings.rotationPeriod
        return isOld || session.messageCount >= settings.rotationMessages || session.settings != settings
            || session.isSharedHistory != room.isSharedHistory
    }

    /// The devices that receive the session, and those that are notified that they don't.
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
                // A replaced identity of our own vouches for no device.
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
                        // Only its owner's signature vouches for a dehydrated device. A user who was never verified may
                        // have a new identity, which is reported.
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

    /// The time in milliseconds before a session that the server has refused is sent again.
    private static let refusalTime: UInt64 = 10_000

    /// Returns the users whose devices the server has just refused to give the current session.
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
        // Devices that lack the session are checked again before the next message.
        if !isIncomplete, !isClaiming, unreached.isEmpty {
            ready[ByteKey(room.roomId)] = Ready(sessionId: id, epoch: deviceEpoch, room: room)
        }
        return .ready
    }

    /// Returns whether the server had no key for the device when asked within the last hour.
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

    /// Returns the session for the next message: a new one if a device has the old one that must not read on.
    private mutating func session(
        for audience: Audience, _ room: RoomToEncrypt, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> OutboundSessionRecord {
        let settings =
            try turn.records.value(EncryptedRoomRecord.self, key: room.roomId)?.settings ?? EncryptionSettings()
        if let known: OutboundSessionRecord = try turn.records.value(key: room.roomId) {
            let allowed = Set(audience.recipients.map(\.address.key))
            let holders = try turn.records.values(ShareRecord.self, scope: known.session.id)
                .filter { $0.value.outcome != .withheld }  // a refused one may have arrived all the same
            if holders.allSatisfy({ allowed.contains($0.key) }), !isUsedUp(known, room, settings, turn.now) {
                return known
            }
            try discardSession(of: room.roomId, &turn)
        }
        let session = OutboundSessionRecord(
            session: OutboundGroupSession(random: turn.random), created: turn.now,
            isSharedHistory: room.isSharedHistory, settings: settings)
        turn.records.set(session, key: room.roomId)
        // Without this, our own messages would be unreadable after a restart.
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

    /// Notifies devices, once, that they don't receive the session, and why.
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

    /// Encrypts a message with the room's session. The caller commits the turn with the message before sending it.
    ///
    /// - Parameters:
    ///   - type: The event's type.
    ///   - content: The event's content. `m.relates_to` stays unencrypted, for the server.
    /// - Returns: The content of an `m.room.encrypted`.
    /// - Throws: `noSession` if ``prepare(_:hasWaited:_:)`` has created none.
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
