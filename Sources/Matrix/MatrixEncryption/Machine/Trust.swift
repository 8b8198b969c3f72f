import Basics

/// Who is given keys.
package enum SharingPolicy: UInt8, Sendable, CaseIterable {
    /// Every device that is not blocked.
    case all
    /// Devices that their owners have signed; all devices of owners who have no cross-signing.
    case crossSigned
    /// Devices that this user has verified, himself or by their owners.
    case verified
}

/// How much a device is trusted (Documentation/Rules/encryption.md, "Trust").
package struct DeviceTrust: Sendable, Equatable {
    package var isBlocked = false
    /// Its owner's self-signing key vouches for it.
    package var isCrossSigned = false
    /// Marked by hand, or signed by an owner who is verified.
    package var isVerified = false
}

/// What is shown beside a message (Documentation/Rules/encryption.md, "Message shields").
package enum MessageShield: String, Sendable, CaseIterable {
    case none
    /// The device is its owner's, whom nobody has verified.
    case unverifiedIdentity
    case unsignedDevice
    /// The owner has been verified, and has other keys now.
    case identityChanged
    case unknownDevice
    /// The key has come by a way that proves nothing.
    case authenticityNotGuaranteed
    case sentInClear

    /// Whether it is a warning; otherwise a hint.
    package var isWarning: Bool {
        switch self {
        case .none, .unverifiedIdentity, .authenticityNotGuaranteed: false
        case .unsignedDevice, .identityChanged, .unknownDevice, .sentInClear: true
        }
    }
}

extension CryptoMachine {
    /// Whether this device trusts our own master key: it has its private half, or has verified it.
    package func trustsOwnIdentity(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        guard let own: IdentityRecord = try turn.records.value(key: me.user) else { return false }
        return own.wasVerified && !own.hasChanged
    }

    /// Whether a user's master key is verified: our user-signing key has signed it, and we trust that.
    package func isVerified(_ user: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        guard try trustsOwnIdentity(&turn) else { return false }
        if user.isExactly(me.user) { return true }
        guard let own: IdentityRecord = try turn.records.value(key: me.user), let signer = own.userSigning,
            let identity: IdentityRecord = try turn.records.value(key: user)
        else { return false }
        guard (try? identity.master.verifySignature(by: signer)) != nil else { return false }
        let key = user + "\n" + identity.master.publicKey.base64
        return try turn.records.value(SettingRecord.self, scope: Self.withdrawn, key: key) == nil
    }

    package func trust(of device: DeviceRecord, _ turn: inout CryptoTurn) throws(EncryptionError) -> DeviceTrust {
        var trust = DeviceTrust(isBlocked: device.trust == .blocked, isVerified: device.trust == .verified)
        let identity: IdentityRecord? = try turn.records.value(key: device.keys.userID)
        if let identity, !identity.hasChanged, identity.hasSigned(device.keys) {
            trust.isCrossSigned = true
            if try isVerified(device.keys.userID, &turn) { trust.isVerified = true }
        }
        if trust.isBlocked { trust.isVerified = false }
        return trust
    }

    /// The device that a session of a room is known to belong to; nil if nobody knows, or somebody only claims it.
    package func sender(
        roomId: String, sessionId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> DeviceRecord? {
        guard let session: InboundSessionRecord = try turn.records.value(scope: roomId, key: sessionId),
            session.source == .direct, let device = try device(session.user, with: session.curve25519, &turn),
            device.keys.ed25519 == session.ed25519
        else { return nil }
        return device
    }

    /// What is shown beside a message that came in clear.
    ///
    /// - Parameter type: Of the event. State, reactions and redactions are never encrypted; what was said before the room
    /// was
    ///   encrypted is not to be asked for.
    package func shield(
        clear type: String, isState: Bool, roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> MessageShield {
        guard !isState, type != "m.reaction", type != "m.room.redaction" else { return .none }
        return try isEncrypted(roomId, &turn) ? .sentInClear : .none
    }

    /// What is shown beside a message that was read with a session.
    ///
    /// - Parameter sessionId: As the event names it.
    package func shield(
        roomId: String, sessionId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> MessageShield {
        guard let session: InboundSessionRecord = try turn.records.value(scope: roomId, key: sessionId) else {
            return .unknownDevice
        }
        switch session.source {
        case .direct: break
        case .forwarded, .imported, .backup, .history: return .authenticityNotGuaranteed
        }
        guard let device = try device(session.user, with: session.curve25519, &turn),
            device.keys.ed25519 == session.ed25519, !device.isDeleted
        else { return .unknownDevice }
        let identity: IdentityRecord? = try turn.records.value(key: session.user)
        if let identity, identity.wasVerified, identity.hasChanged { return .identityChanged }
        let trust = try trust(of: device, &turn)
        if trust.isVerified { return .none }
        return trust.isCrossSigned ? .unverifiedIdentity : .unsignedDevice
    }
}

extension IdentityRecord {
    /// Whether the user's present self-signing key vouches for a device.
    func hasSigned(_ device: DeviceKeys) -> Bool {
        selfSigning.map { (try? device.verifySignature(by: $0)) != nil } ?? false
    }
}
