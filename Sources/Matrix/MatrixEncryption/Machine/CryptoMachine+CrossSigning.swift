import Basics
package import JSONBytes

/// The state of the user's own cross-signing keys on this device.
package enum OwnIdentityState: Sendable, Equatable, CaseIterable {
    /// The server has not been queried yet.
    case unknown
    /// There are no keys.
    case missing
    /// There are keys that are not verified here, or that differ from the trusted ones.
    case untrusted
    /// The keys are trusted, but some private halves are missing.
    case trusted
    /// The keys are trusted, and this device can sign.
    case complete
}

/// The user's own cross-signing keys, and their signatures (Documentation/Rules/encryption.md, "Cross-signing").
extension CryptoMachine {
    package func ownIdentity(_ turn: inout CryptoTurn) throws(EncryptionError) -> OwnIdentityState {
        guard try turn.records.value(IdentityRecord.self, key: me.user) != nil else {
            return try isOwnListKnown(&turn) ? .missing : .unknown
        }
        guard try trustsOwnIdentity(&turn) else { return .untrusted }
        for usage in CrossSigningUsage.allCases where try privateKey(usage, &turn) == nil { return .trusted }
        return .complete
    }

    /// Returns the public keys of a user's identity on the server; empty if there is none. The third key is visible
    /// only to its owner.
    package func identityKeys(
        of user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [CrossSigningUsage: Ed25519PublicKey] {
        guard let identity: IdentityRecord = try turn.records.value(key: user) else { return [:] }
        var keys: [CrossSigningUsage: Ed25519PublicKey] = [:]
        for usage in CrossSigningUsage.allCases { keys[usage] = identity.key(usage)?.publicKey }
        return keys
    }

    private func isOwnListKnown(_ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        try turn.records.value(TrackedUserRecord.self, key: me.user)?.isOutdated == false
    }

    /// Returns a private key; `nil` unless it is available and its public half is published and trusted.
    func privateKey(
        _ usage: CrossSigningUsage, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Ed25519KeyPair? {
        guard try trustsOwnIdentity(&turn), let own: IdentityRecord = try turn.records.value(key: me.user),
            let record: SecretRecord = try turn.records.value(key: SecretName(usage).rawValue)
        else { return nil }
        let pair = try Ed25519KeyPair(seed: record.secret)
        return pair.publicKey == own.key(usage)?.publicKey ? pair : nil
    }

    /// Returns an available secret, whether or not it is current.
    package func secret(_ name: SecretName, _ turn: inout CryptoTurn) throws(EncryptionError) -> SecretBytes? {
        try turn.records.value(SecretRecord.self, key: name.rawValue)?.secret
    }

    // MARK: Creating keys

    /// Creates cross-signing keys and stores their private halves. They take effect once they are uploaded.
    ///
    /// - Parameter isReset: Whether they replace existing keys. Users who have verified this user must do so again.
    /// - Returns: The body for `POST /keys/device_signing/upload`, to which the caller adds `auth` if the server
    ///   requires it. After a success, call ``identityUploaded(_:)``. Until then, further calls return the same keys.
    /// - Throws: `notKnown` before the server was queried for existing keys, `identityExists`.
    package mutating func makeIdentity(
        isReset: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> JSONView {
        let exists = try turn.records.value(IdentityRecord.self, key: me.user) != nil
        guard try isOwnListKnown(&turn) else { throw .notKnown }
        guard isReset || !exists else { throw .identityExists }
        for usage in CrossSigningUsage.allCases {
            let key = SecretName(usage).rawValue
            let isThere = try turn.records.value(SecretRecord.self, scope: SecretRecord.new, key: key) != nil
            if !isThere {
                let seed = Ed25519KeyPair(random: turn.random).seed
                turn.records.set(SecretRecord(seed), scope: SecretRecord.new, key: key)
            }
        }
        guard let new = try newIdentity(&turn), let selfSigning = new.selfSigning, let userSigning = new.userSigning
        else { throw .state }
        var body = JSONWriter()
        body.add("master_key", new.master.json)
        body.add("self_signing_key", selfSigning.json)
        body.add("user_signing_key", userSigning.json)
        return body.view
    }

    /// Records that the server has the result of ``makeIdentity(isReset:_:)``, and signs this device.
    package mutating func identityUploaded(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let new = try newIdentity(&turn) else { return }
        for usage in CrossSigningUsage.allCases {
            let key = SecretName(usage).rawValue
            guard let record: SecretRecord = try turn.records.value(scope: SecretRecord.new, key: key) else { continue }
            turn.records.set(record, key: key)
            turn.records.remove(.secret, scope: SecretRecord.new, key: key)
        }
        turn.records.set(new, key: me.user)
        try noteOwnIdentityTrusted(&turn)
        let signed = try SignedJSON.sign(
            new.master.json, with: account.ed25519, user: me.user, keyID: "ed25519:" + me.device, keepsOthers: false)
        try postSignatures([(me.user, new.master.publicKey.base64, signed)], &turn)
        try noteChanged([me.user], &turn)
    }

    /// Returns the identity whose private halves are stored as new.
    private func newIdentity(_ turn: inout CryptoTurn) throws(EncryptionError) -> IdentityRecord? {
        var pairs: [CrossSigningUsage: Ed25519KeyPair] = [:]
        for usage in CrossSigningUsage.allCases {
            let key = SecretName(usage).rawValue
            guard let record: SecretRecord = try turn.records.value(scope: SecretRecord.new, key: key) else {
                return nil
            }
            pairs[usage] = try Ed25519KeyPair(seed: record.secret)
        }
        let user = me.user
        func key(_ usage: CrossSigningUsage) throws(EncryptionError) -> CrossSigningKey {
            guard let pair = pairs[usage] else { throw .state }
            return try CrossSigningKey(
                userID: user, usage: usage, publicKey: pair.publicKey,
                signedBy: usage == .master ? nil : pairs[.master])
        }
        var identity = IdentityRecord(master: try key(.master))
        (identity.selfSigning, identity.userSigning) = (try key(.selfSigning), try key(.userSigning))
        identity.wasVerified = true
        return identity
    }

    /// Handles a master key that the server names as our own.
    ///
    /// - Returns: Whether this device has just created it, and the answer to the upload was lost.
    mutating func adoptNewIdentity(
        _ master: CrossSigningKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        guard let new = try newIdentity(&turn), new.master.publicKey == master.publicKey else { return false }
        try identityUploaded(&turn)
        return true
    }

    // MARK: Received private keys

    /// Stores the private half of a key, from the secret storage or another device.
    ///
    /// With the master key, the identity becomes trusted.
    ///
    /// - Throws: `wrongKey` if it does not match the published key, or that one the pinned key; `keyLength`; `notKnown`
    ///   for a backup's key before the server was queried for the backup.
    package mutating func take(
        _ secret: SecretBytes, as name: SecretName, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let usage = name.usage else { return try takeBackupKey(secret, &turn) }
        guard let own: IdentityRecord = try turn.records.value(key: me.user), !own.hasChanged,
            let published = own.key(usage), try Ed25519KeyPair(seed: secret).publicKey == published.publicKey
        else { throw .wrongKey }
        turn.records.set(SecretRecord(secret), key: name.rawValue)
        try closeSecretRequest(name, &turn)
        if usage == .master {
            try trustOwnIdentity(own, &turn)
        } else if own.wasVerified {
            try noteOwnIdentityTrusted(&turn)
        }
    }

    /// Handles the verification of our own master key.
    mutating func trustOwnIdentity(_ own: IdentityRecord, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard !own.hasChanged else { throw .untrusted }
        var own = own
        own.wasVerified = true
        turn.records.set(own, key: me.user)
        try noteOwnIdentityTrusted(&turn)
        try requestMissingSecrets(&turn)
    }

    /// Signs this device if possible, and adopts the users whom another of our devices has verified.
    private mutating func noteOwnIdentityTrusted(_ turn: inout CryptoTurn) throws(EncryptionError) {
        deviceEpoch += 1
        if let own: DeviceRecord = try turn.records.value(scope: me.user, key: me.device),
            try !trust(of: own, &turn).isCrossSigned, try privateKey(.selfSigning, &turn) != nil
        {
            try sign(own, &turn)
        }
        for user in try turn.records.values(IdentityRecord.self).map(\.key) { try noteVerified(user, &turn) }
        turn.notices.append(.trustChanged(user: me.user))
    }

    /// Pins a master key that our own user-signing key has signed. From now on, changes of it raise an alarm.
    func noteVerified(_ user: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard !user.isExactly(me.user), try isVerified(user, &turn),
            var identity: IdentityRecord = try turn.records.value(key: user),
            !identity.wasVerified || identity.hasChanged
        else { return }
        (identity.wasVerified, identity.pinned) = (true, identity.master.publicKey)
        turn.records.set(identity, key: user)
        turn.notices.append(.trustChanged(user: user))
    }

    // MARK: Signing

    /// Signs another device of our own.
    ///
    /// - Throws: `unknownDevice`, and `noPrivateKey` if the private half of the trusted self-signing key is missing.
    package mutating func signDevice(_ device: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let record: DeviceRecord = try turn.records.value(scope: me.user, key: device), !record.isDeleted,
            !record.isSuspicious
        else { throw .unknownDevice }
        try sign(record, &turn)
        turn.notices.append(.trustChanged(user: me.user))
    }

    private mutating func sign(_ device: DeviceRecord, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let pair = try privateKey(.selfSigning, &turn) else { throw .noPrivateKey }
        let id = device.keys.deviceID
        let keyId = "ed25519:" + pair.publicKey.base64
        let signed = try SignedJSON.sign(device.keys.json, with: pair, user: me.user, keyID: keyId)
        var record = device
        record.keys = try DeviceKeys(signed, user: me.user, device: id)
        turn.records.set(record, scope: me.user, key: id)
        deviceEpoch += 1
        let alone = try SignedJSON.sign(device.keys.json, with: pair, user: me.user, keyID: keyId, keepsOthers: false)
        try postSignatures([(me.user, id, alone)], &turn)
    }

    /// Signs another user, whose master key was verified.
    ///
    /// - Throws: `unknownDevice` if the user has no master key, `untrusted` if it differs from the pinned one, and
    ///   `noPrivateKey` if the private half of the trusted user-signing key is missing.
    package mutating func signUser(_ user: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard !user.isExactly(me.user), var identity: IdentityRecord = try turn.records.value(key: user) else {
            throw .unknownDevice
        }
        guard !identity.hasChanged else { throw .untrusted }
        guard let pair = try privateKey(.userSigning, &turn) else { throw .noPrivateKey }
        let (json, keyId) = (identity.master.json, "ed25519:" + pair.publicKey.base64)
        identity.master = try CrossSigningKey(
            SignedJSON.sign(json, with: pair, user: me.user, keyID: keyId), user: user, usage: .master)
        identity.wasVerified = true
        turn.records.set(identity, key: user)
        turn.records.remove(.setting, scope: Self.withdrawn, key: user + "\n" + identity.master.publicKey.base64)
        deviceEpoch += 1
        let alone = try SignedJSON.sign(json, with: pair, user: me.user, keyID: keyId, keepsOthers: false)
        try postSignatures([(user, identity.master.publicKey.base64, alone)], &turn)
        turn.notices.append(.trustChanged(user: user))
    }

    private mutating func postSignatures(
        _ objects: [(user: String, id: String, json: JSONView)], _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var body = JSONWriter()
        for (user, objects) in Dictionary(grouping: objects, by: \.user).sorted(by: { $0.key < $1.key }) {
            var keys = JSONWriter()
            for object in objects { keys.add(object.id, object.json) }
            body.add(user, keys)
        }
        try post(
            OutboxRecord(type: "", transactionId: turn.random.text(32), body: body.text, shares: []), &turn)
    }

    mutating func signaturesAnswered(
        _ request: CryptoRequest, _ answer: JSONView, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        try delivered(request, &turn)
        let users = (answer["failures"]?.members ?? []).filter { !$0.value.members.isEmpty }.map(\.key)
        guard !users.isEmpty else { return }
        // A signature that exists only here does not count.
        try noteChanged(users, &turn)
        turn.notices.append(.signaturesRefused(users: users))
    }

    // MARK: Changed identities

    /// The scope of withdrawn verifications: users, each with a master key for which our signatures do not count.
    static let withdrawn = "withdrawn"

    /// Accepts a user's current master key as unverified. Messages are sent to the user again.
    package mutating func acceptIdentity(of user: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard var identity: IdentityRecord = try turn.records.value(key: user) else { throw .unknownDevice }
        guard identity.hasChanged else { return }
        (identity.pinned, identity.wasVerified) = (identity.master.publicKey, false)
        turn.records.set(identity, key: user)
        try forgetVerifiedDevices(of: user, &turn)
        turn.notices.append(.trustChanged(user: user))
    }

    /// They were verified through the identity.
    private mutating func forgetVerifiedDevices(
        of user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        for (id, var device) in try turn.records.values(DeviceRecord.self, scope: user)
        where device.trust == .verified && device.address != me {
            device.trust = .unset
            turn.records.set(device, scope: user, key: id)
        }
        deviceEpoch += 1
    }

    /// Withdraws the verification of a user. The server is not notified and still has the signature.
    package mutating func withdrawVerification(of user: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard !user.isExactly(me.user), var identity: IdentityRecord = try turn.records.value(key: user) else {
            throw .unknownDevice
        }
        (identity.pinned, identity.wasVerified) = (identity.master.publicKey, false)
        turn.records.set(identity, key: user)
        turn.records.set(SettingRecord("yes"), scope: Self.withdrawn, key: user + "\n" + identity.pinned.base64)
        try forgetVerifiedDevices(of: user, &turn)
        turn.notices.append(.trustChanged(user: user))
    }
}

extension IdentityRecord {
    package func key(_ usage: CrossSigningUsage) -> CrossSigningKey? {
        switch usage {
        case .master: master
        case .selfSigning: selfSigning
        case .userSigning: userSigning
        }
    }
}
