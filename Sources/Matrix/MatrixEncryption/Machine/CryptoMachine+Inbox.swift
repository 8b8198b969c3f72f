import Basics
package import JSONBytes

/// Messages to this device (Documentation/Rules/encryption.md, "Messages to a device", and rule R21).
extension CryptoMachine {
    /// The proven sender of a message over an Olm session.
    struct Sender: Sendable, Equatable {
        let user: String
        let curve25519: Curve25519PublicKey
        let ed25519: Ed25519PublicKey
        let device: DeviceRecord
    }

    /// The types that are only accepted encrypted.
    private static let encryptedOnly: Set<String> = [
        "m.room_key", "m.forwarded_room_key", "m.secret.send", "m.dummy", "m.room_key_bundle",
    ]

    /// Returns whether the machine handles messages of this type, which are then not delivered to the application.
    package static func takes(_ type: String) -> Bool {
        type == "m.room.encrypted" || encryptedOnly.contains(type) || type == "m.room_key.withheld"
            || type == "m.room_key_request" || type == "m.secret.request"
            || type.hasPrefix(VerificationEventType.prefix)
    }

    /// - Parameter event: The event as received from the server: `type`, `sender`, `content`.
    package mutating func receive(_ event: JSONView, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let type = event["type"]?.string, let sender = event["sender"]?.string, let content = event["content"]
        else { return }
        switch type {
        case "m.room.encrypted":
            do throws(EncryptionError) {
                try receive(encrypted: content, from: sender, &turn)
            } catch .store {
                throw .store
            } catch {
                turn.notices.append(.dropped(type: type, sender: sender, error))
            }
        case "m.room_key.withheld": try receive(withheld: content, from: sender, &turn)
        case "m.room_key_request", "m.secret.request": try receive(question: content, type, from: sender, &turn)
        case let type where type.hasPrefix(VerificationEventType.prefix):
            try receive(verification: type, content, from: sender, &turn)
        default: break
        }
    }

    // MARK: Olm

    private mutating func receive(
        encrypted content: JSONView, from user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard content["algorithm"]?.string == Algorithm.olm else { throw .version }
        guard let senderKey = content["sender_key"]?.string.flatMap({ try? Curve25519PublicKey(base64: $0) }) else {
            throw .keys
        }
        let box = content["ciphertext"]?.members.first {
            (try? Curve25519PublicKey(base64: $0.key)) == account.curve25519.publicKey
        }?.value
        guard let box else { return }  // for another device
        guard let type = box["type"]?.int, let body = box["body"]?.string else { throw .missingField }
        let before = (account: account, channels: try channels(with: senderKey, &turn).map(\.session.id))
        let plaintext: SecretBytes
        do throws(EncryptionError) {
            plaintext = try decrypt(OlmMessage(type: type, body: body), from: senderKey, &turn)
        } catch .messageKey {
            throw .messageKey  // a repetition
        } catch .noSession, .noChain, .mac, .gap, .oneTimeKey, .padding {
            if let device = try device(user, with: senderKey, &turn) { noteWedged(device, &turn) }
            throw .noSession
        }
        do throws(EncryptionError) {
            guard let payload = JSONView(plaintext.withUnsafeBytes { Array($0) }), payload.isObject else {
                throw .notJSON
            }
            try receive(payload, from: user, senderKey, &turn)
        } catch {
            if Self.ownBounds.contains(error) {
                // Treat the message as not received: its sender repeats what opens the channel until there is an
                // answer.
                for channel in try channels(with: senderKey, &turn)
                where channel.owner == nil && !before.channels.contains(channel.session.id) {
                    turn.records.remove(.olmSession, scope: senderKey.base64, key: channel.session.id)
                    account = before.account
                    turn.records.set(account)
                }
            } else {
                try forgetUnproved(senderKey, &turn)
            }
            throw error
        }
    }

    /// The errors that prove nothing about the sender.
    private static let ownBounds: Set<EncryptionError> = [.tooMany, .length, .store, .state]

    private mutating func decrypt(
        _ message: OlmMessage, from senderKey: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> SecretBytes {
        var channels = try channels(with: senderKey, &turn)
        if case .preKey(let bytes) = message {
            let opening = try OlmPreKeyMessage(bytes)
            guard let known = channels.first(where: { $0.session.matches(opening) }) else {
                let (session, plaintext) = try account.inboundSession(from: opening, senderKey: senderKey)
                turn.records.set(account)
                try store(OlmSessionRecord(session: session, lastUsed: timeOfUse(turn)), with: senderKey, &turn)
                return plaintext
            }
            channels = [known]
        }
        var failure = EncryptionError.noSession
        for var channel in channels {
            do throws(EncryptionError) {
                let plaintext = try channel.session.decrypt(message)
                if channel.lastUsed > channelsBefore || channel.session.turnsNext { channel.lastUsed = timeOfUse(turn) }
                turn.records.set(channel, scope: senderKey.base64, key: channel.session.id)
                return plaintext
            } catch {
                // A replay on one channel is no reason to create a new one.
                if failure != .messageKey { failure = error }
            }
        }
        throw failure
    }

    // MARK: Decrypted contents

    /// Checks the sender of a decrypted message (Documentation/Rules/encryption.md, "Messages to a device").
    mutating func receive(
        _ payload: JSONView, from user: String, _ senderKey: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let type = payload["type"]?.string, payload["content"]?.isObject == true else { throw .missingField }
        guard payload["sender"]?.string?.isExactly(user) == true else { throw .sender }
        guard payload["recipient"]?.string?.isExactly(me.user) == true else { throw .recipient }
        guard payload["recipient_keys"]?["ed25519"]?.string == account.ed25519.publicKey.base64 else {
            throw .recipientKeys
        }
        guard let ed25519 = payload["keys"]?["ed25519"]?.string.flatMap({ try? Ed25519PublicKey(base64: $0) }) else {
            throw .keys
        }
        if let announced = payload["sender_device_keys"] {
            guard announced["user_id"]?.string?.isExactly(user) == true else { throw .announcedUser }
            let keys = try DeviceKeys(announced, user: user)
            guard keys.curve25519 == senderKey else { throw .announcedCurve25519 }
            guard keys.ed25519 == ed25519 else { throw .announcedEd25519 }
            let isHeld = try !isRoomForUnlisted(keys, &turn)
            if !isHeld { try take(keys, isListed: false, &turn) }
            // The device is known with other keys.
            if !isHeld, try device(user, with: senderKey, &turn) == nil { throw .deviceKeys }
        }
        guard let device = try device(user, with: senderKey, &turn) else {
            guard try turn.records.value(DeviceByKeyRecord.self, key: senderKey.base64) == nil else {
                throw .deviceKeys  // the key of another device
            }
            return try hold(payload, from: user, senderKey, &turn)
        }
        guard device.keys.ed25519 == ed25519 else { throw .deviceKeys }
        try bind(senderKey, to: .init(user: user, ed25519: ed25519), &turn)
        let sender = Sender(user: user, curve25519: senderKey, ed25519: ed25519, device: device)
        try receive(type, payload, from: sender, &turn)
    }

    /// Binds the channels with a key to the first owner that they have proved.
    private mutating func bind(
        _ key: Curve25519PublicKey, to owner: OlmSessionRecord.Owner, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        for var channel in try channels(with: key, &turn) where channel.owner != owner {
            guard channel.owner == nil else { throw .deviceKeys }
            channel.owner = owner
            turn.records.set(channel, scope: key.base64, key: channel.session.id)
        }
    }

    private mutating func receive(
        _ type: String, _ payload: JSONView, from sender: Sender, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let content = payload["content"] ?? .nothing
        switch type {
        case "m.room_key": try receive(roomKey: content, from: sender, &turn)
        // The device could not read messages over the old channel, perhaps room keys. They are sent again.
        case "m.dummy":
            var device = sender.device
            device.wedgingIndex += 1
            turn.records.set(device, scope: sender.user, key: device.keys.deviceID)
            deviceEpoch += 1
        case "m.forwarded_room_key": try receive(forwardedKey: content, from: sender, &turn)
        case "m.secret.send": try receive(secret: content, from: sender, &turn)
        case "m.room_key_bundle": try receive(bundle: content, from: sender, &turn)
        default:
            var object = JSONWriter()
            object.add("type", type)
            object.add("sender", sender.user)
            object.add("content", content)
            turn.notices.append(.toDevice(object.view, senderKey: sender.curve25519))
        }
    }

    // MARK: Messages from unknown devices

    /// The time in milliseconds that a message waits for its device to become known.
    private static let holdingTime: UInt64 = 10_000
    private static let heldMessages = 100

    private mutating func hold(
        _ payload: JSONView, from user: String, _ key: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let held = try turn.records.values(HeldMessageRecord.self, scope: user)
        guard held.count < Self.heldMessages else { throw .tooMany }
        try noteHeld(payload, of: user, &turn)
        try refresh([user], areMembers: false, &turn)
        let number = (held.last.flatMap { UInt64($0.key) } ?? 999_999) + 1
        turn.records.set(
            HeldMessageRecord(payload: payload, senderKey: key, time: turn.now), scope: user, key: "\(number)")
    }

    /// Processes held messages once the user's devices are known.
    ///
    /// - Parameter isFinal: Whether to drop messages of unknown devices. Those that waited too long are always dropped.
    mutating func releaseHeldMessages(
        of user: String, isFinal: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let all = try turn.records.values(HeldMessageRecord.self, scope: user)
        guard !all.isEmpty else { return }
        for (number, held) in all {
            let isKnown = try device(user, with: held.senderKey, &turn) != nil
            let isOver = turn.now >= held.time && turn.now - held.time > Self.holdingTime
            guard isKnown || isFinal || isOver else { continue }
            turn.records.remove(.heldMessage, scope: user, key: number)
            do throws(EncryptionError) {
                guard isKnown else { throw .unknownDevice }
                try receive(held.payload, from: user, held.senderKey, &turn)
            } catch .store {
                throw .store
            } catch {
                // A server that does not respond proves nothing.
                if isKnown || isFinal { try forgetUnproved(held.senderKey, &turn) }
                turn.notices.append(.dropped(type: "m.room.encrypted", sender: user, error))
            }
        }
        try noteReleased(user, &turn)
    }

    // MARK: Withheld keys

    private static let withheldCodes: Set<String> = [
        "m.blacklisted", "m.unverified", "m.unauthorised", "m.unavailable", "m.no_olm", "m.history_not_shared",
    ]
    /// Limits that keep strangers' hints from filling the store.
    static let (withheldOfARoom, withheldOfAUser) = (1_000, 100)

    /// Handles an unencrypted hint. It explains a failure and has no other effect.
    private mutating func receive(
        withheld content: JSONView, from user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard content["algorithm"]?.string == Algorithm.megolm, let code = content["code"]?.string,
            Self.withheldCodes.contains(code)
        else { return }
        if code == "m.no_olm" {
            if let key = content["sender_key"]?.string.flatMap({ try? Curve25519PublicKey(base64: $0) }),
                let device = try device(user, with: key, &turn)
            {
                noteWedged(device, &turn)
            }
        }
        guard let roomId = content["room_id"]?.string, let sessionId = content["session_id"]?.string,
            sessionId.utf8.count <= 64, user.utf8.count <= 255,
            try turn.records.value(EncryptedRoomRecord.self, key: roomId) != nil,
            try turn.records.value(InboundSessionRecord.self, scope: roomId, key: sessionId) == nil
        else { return }
        let known = try turn.records.values(WithheldRecord.self, scope: roomId)
        guard known.count < Self.withheldOfARoom,
            known.count(where: { $0.value.user.isExactly(user) }) < Self.withheldOfAUser
        else { return }
        turn.records.set(WithheldRecord(code: code, user: user), scope: roomId, key: sessionId)
        turn.notices.append(.withheld(roomId: roomId, sessionId: sessionId))
    }
}

/// The reason given for withholding a session from this device.
struct WithheldRecord: Record, Equatable {
    static let kind = RecordKind.withheld
    private static let version: UInt8 = 1

    let code: String
    let user: String

    init(code: String, user: String) { (self.code, self.user) = (code, user) }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(code)
        writer.append(user)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        (code, user) = (try reader.text(), try reader.text())
        try reader.end()
    }
}

/// A decrypted message from a device that is not known yet.
struct HeldMessageRecord: Record, Equatable {
    static let kind = RecordKind.heldMessage
    private static let version: UInt8 = 1

    let payload: JSONView
    let senderKey: Curve25519PublicKey
    /// The time in milliseconds since 1970.
    let time: UInt64

    init(payload: JSONView, senderKey: Curve25519PublicKey, time: UInt64) {
        (self.payload, self.senderKey, self.time) = (payload, senderKey, time)
    }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(payload.compactText)
        writer.append(senderKey)
        writer.append(time)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        guard let payload = JSONView(Array(try reader.text().utf8)) else { throw .state }
        (self.payload, senderKey, time) = (payload, try reader.key(), try reader.number())
        try reader.end()
    }
}
