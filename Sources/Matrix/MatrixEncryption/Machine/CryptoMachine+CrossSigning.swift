import Basics
package import JSONBytes

/// What this device knows of its user's own cross-signing keys.
package enum OwnIdentityState: Sendable, Equatable, CaseIterable {
    /// The server has not been asked yet.
    case unknown
    /// There are none.
    case missing
    /// There are some that nobody has vouched for here, or others than those that were trusted.
    case untrusted
    /// They are trusted, and not all private halves are here.
    case trusted
    /// They are trusted, and this device can sign.
    case complete
}

/// The user's own cross-signing keys, and what is signed with them (Documentation/Rules/encryption.md, "Cross-signing").
extension CryptoMachine {
    package func ownIdentity(_ turn: inout CryptoTurn) throws(EncryptionError) -> OwnIdentityState {
        guard try turn.records.value(IdentityRecord.self, key: me.user) != nil else {
            return try isOwnListKnown(&turn) ? .missing : .unknown
        }
        guard try trustsOwnIdentity(&turn) else { return .untrusted }
        for usage in CrossSigningUsage.allCases where try privateKey(usage, &turn) == nil { return .trusted }
        return .complete
    }

    /// The public keys that a user's identity has on the server now; nothing if there is none. The third one is nobody
    /// else's to see.
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

    /// Nil unless it is here, and the one whose public half is published and trusted.
    func privateKey(
        _ usage: CrossSigningUsage, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Ed25519KeyPair? {
        guard try trustsOwnIdentity(&turn), let own: IdentityRecord = try turn.records.value(key: me.user),
            let record: SecretRecord = try turn.records.value(key: SecretName(usage).rawValue)
        else { return nil }
        let pair = try Ed25519KeyPair(seed: record.secret)
        return pair.publicKey == own.key(usage)?.publicKey ? pair : nil
    }

    /// A secret that is here, whatever it is good for.
    package func secret(_ name: SecretName, _ turn: inout CryptoTurn) throws(EncryptionError) -> SecretBytes? {
        try turn.records.value(SecretRecord.self, key: name.rawValue)?.secret
    }

    // MARK: Making them

    /// Makes cross-signing keys, and keeps their private halves; they count once they are uploaded.
    ///
    /// - Parameter isReset: Takes the place of keys that are there already: whoever has verified the user must do so again.
    /// - Returns: The body for `POST /keys/device_signing/upload`, to which the caller adds `auth` where the server asks for
    ///   it. After a success it calls ``identityUploaded(_:)``. Asked again before that, the same keys are in it.
    /// - Throws: `notKnown` before the server was asked for the keys that are there, `identityExists`.
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

    /// The server has what ``makeIdentity(isReset:_:)`` returned. This device is signed.
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

    /// The identity of which the private halves are kept as new.
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

    /// The server names this master key as our own.
    ///
    /// - Returns: Whether it is one that this device has just made: the answer to the upload was lost.
    mutating func adoptNewIdentity(
        _ master: CrossSigningKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        guard let new = try newIdentity(&turn), new.master.publicKey == master.publicKey else { return false }
        try identityUploaded(&turn)
        return true
    }

    // MARK: Private keys from elsewhere

    /// Takes the private half of a key: out of the secret storage, or from another device.
    ///
    /// With that of the master key the identity is trusted.
    ///
    /// - Throws: `wrongKey` unless it belongs to the published key, and that to the pinned one; `keyLength`; `notKnown` for
    ///   the key of a backup before the server was asked for that.
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

    /// Our own master key was verified.
    mutating func trustOwnIdentity(_ own: IdentityRecord, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard !own.hasChanged else { throw .untrusted }
        var own = own
        own.wasVerified = true
        turn.records.set(own, key: me.user)
        try noteOwnIdentityTrusted(&turn)
        try requestMissingSecrets(&turn)
    }

    /// This device is signed if it can be, and users whom another of our devices has verified are known as such.
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

    /// A master key that our own user-signing key vouches for is pinned, and its changes are an alarm from now on.
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

    /// Vouches for another device of our own.
    ///
    /// - Throws: `unknownDevice`, and `noPrivateKey` if the private half of the trusted self-signing key is not here.
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

    /// Vouches for another user, whose master key was verified.
    ///
    /// - Throws: `unknownDevice` for a user without a master key, `untrusted` if it is another one than is pinned, and
    ///   `noPrivateKey` if the private half of the trusted user-signing key is not here.
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
        // What is signed here only is not signed.
        try noteChanged(users, &turn)
        turn.notices.append(.signaturesRefused(users: users))
    }

    // MARK: Identities that change

    /// The scope of verifications that were withdrawn: users, each with a master key that no signature of ours counts for.
    static let withdrawn = "withdrawn"

    /// Takes a user's present master key for his, unverified. Messages go to him again.
    package mutating func acceptIdentity(of user: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard var identity: IdentityRecord = try turn.records.value(key: user) else { throw .unknownDevice }
        guard identity.hasChanged else { return }
        (identity.pinned, identity.wasVerified) = (identity.master.publicKey, false)
        turn.records.set(identity, key: user)
        try forgetVerifiedDevices(of: user, &turn)
        turn.notices.append(.trustChanged(user: user))
    }

    /// They were verified with the identity.
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

    /// Takes back that a user is verified. Nothing is said to the server, which has the signature still.
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
