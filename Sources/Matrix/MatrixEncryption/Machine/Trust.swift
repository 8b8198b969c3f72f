import Basics

/// The policy for giving keys.
package enum SharingPolicy: UInt8, Sendable, CaseIterable {
    /// All devices that are not blocked.
    case all
    /// Devices signed by their owners, and all devices of owners without cross-signing.
    case crossSigned
    /// Devices that this user has verified, directly or through their owners.
    case verified
}

/// The trust in a device (Documentation/Rules/encryption.md, "Trust").
package struct DeviceTrust: Sendable, Equatable {
    package var isBlocked = false
    /// Whether its owner's self-signing key has signed it.
    package var isCrossSigned = false
    /// Whether it was marked by hand, or signed by a verified owner.
    package var isVerified = false
}

/// The shield to show next to a message (Documentation/Rules/encryption.md, "Message shields").
package enum MessageShield: String, Sendable, CaseIterable {
    case none
    /// The device belongs to an owner who is not verified.
    case unverifiedIdentity
    case unsignedDevice
    /// The owner was verified and now has other keys.
    case identityChanged
    case unknownDevice
    /// The key came from a source that proves nothing.
    case authenticityNotGuaranteed
    case sentInClear

    /// Whether it is a warning rather than a hint.
    package var isWarning: Bool {
        switch self {
        case .none, .unverifiedIdentity, .authenticityNotGuaranteed: false
        case .unsignedDevice, .identityChanged, .unknownDevice, .sentInClear: true
        }
    }
}

extension CryptoMachine {
    /// Returns whether this device trusts our own master key: it has the private half, or has verified it.
    package func trustsOwnIdentity(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        guard let own: IdentityRecord = try turn.records.value(key: me.user) else { return false }
        return own.wasVerified && !own.hasChanged
    }

    /// Returns whether a user's master key is verified: our trusted user-signing key has signed it.
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

    /// Returns the proven device of a room's session; `nil` if it is unknown or only claimed.
    package func sender(
        roomId: String, sessionId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> DeviceRecord? {
        guard let session: InboundSessionRecord = try turn.records.value(scope: roomId, key: sessionId),
            session.source == .direct, let device = try device(session.user, with: session.curve25519, &turn),
            device.keys.ed25519 == session.ed25519
        else { return nil }
        return device
    }

    /// Returns the shield of an unencrypted message.
    ///
    /// - Parameter type: The event's type. State, reactions and redactions are never encrypted. Don't ask about
    ///   messages from before the room was encrypted.
    package func shield(
        clear type: String, isState: Bool, roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> MessageShield {
        guard !isState, type != "m.reaction", type != "m.room.redaction" else { return .none }
        return try isEncrypted(roomId, &turn) ? .sentInClear : .none
    }

    /// Returns the shield of a message that was decrypted with a session.
    ///
    /// - Parameter sessionId: The id in the event.
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
    /// Returns whether the user's current self-signing key has signed a device.
    func hasSigned(_ device: DeviceKeys) -> Bool {
        selfSigning.map { (try? device.verifySignature(by: $0)) != nil } ?? false
    }
}
