import Basics
import JSONBytes

/// The devices of users and their keys (Documentation/Rules/encryption.md, "Devices and identities").
extension CryptoMachine {
    private static let usersOfAQuery = 250

    // MARK: Outdated devices

    /// Tracks users, whose devices are then queried before anything is sent to them.
    ///
    /// - Parameter areMembers: Whether they are in an encrypted room with us, or about to be.
    package mutating func track(
        _ users: some Sequence<String>, areMembers: Bool = true, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        for user in users {
            if var known: TrackedUserRecord = try turn.records.value(key: user) {
                guard areMembers, !known.isMember else { continue }
                known.isMember = true
                turn.records.set(known, key: user)
            } else {
                // Don't start at zero: a pending answer may be from before we stopped tracking the user.
                turn.records.set(TrackedUserRecord(generation: turn.now, isMember: areMembers), key: user)
                deviceEpoch += 1
            }
        }
    }

    package func isTracked(_ user: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        try turn.records.value(TrackedUserRecord.self, key: user) != nil
    }

    /// Marks these users' devices as changed.
    package mutating func noteChanged(_ users: some Sequence<String>, _ turn: inout CryptoTurn) throws(EncryptionError)
    {
        for user in users {
            guard var tracked: TrackedUserRecord = try turn.records.value(key: user) else { continue }
            tracked.isOutdated = true
            tracked.generation += 1
            turn.records.set(tracked, key: user)
            deviceEpoch += 1
        }
    }

    /// Queries these users' devices, even if they are known.
    ///
    /// - Parameter areMembers: See ``track(_:areMembers:_:)``.
    package mutating func refresh(
        _ users: [String], areMembers: Bool = true, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        try track(users, areMembers: areMembers, &turn)
        try noteChanged(users, &turn)
    }

    /// Stops tracking users with whom we share no encrypted room, since their changes are no longer reported.
    mutating func noteLeft(_ users: some Sequence<String>, _ turn: inout CryptoTurn) throws(EncryptionError) {
        for user in users where !user.isExactly(me.user) {
            turn.records.remove(.trackedUser, key: user)
            deviceEpoch += 1
        }
    }

    /// Marks all devices as outdated after a period without reports.
    mutating func markAllOutdated(_ turn: inout CryptoTurn) throws(EncryptionError) {
        try noteChanged(turn.records.values(TrackedUserRecord.self).map(\.key), &turn)
    }

    // MARK: Queries

    func keyQueryUsers(_ turn: inout CryptoTurn) throws(EncryptionError) -> [ByteKey: UInt64] {
        let asked = Set(inFlight.values.flatMap { $0.generations.keys })
        var users: [ByteKey: UInt64] = [:]
        for (user, tracked) in try turn.records.values(TrackedUserRecord.self)
        where tracked.isOutdated && !asked.contains(ByteKey(user)) && !isFailing(user, turn) {
            users[ByteKey(user)] = tracked.generation
        }
        return users
    }

    mutating func keyQueries(_ turn: inout CryptoTurn) throws(EncryptionError) -> [CryptoRequest] {
        guard !isPaused("query", turn) else { return [] }
        let users = try keyQueryUsers(&turn).sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
        return stride(from: 0, to: users.count, by: Self.usersOfAQuery).map { start in
            let batch = users[start..<min(start + Self.usersOfAQuery, users.count)]
            var asked = JSONWriter()
            for (user, _) in batch { asked.add(user.string, json: "[]") }
            var body = JSONWriter()
            body.add("device_keys", asked)
            body.add("timeout", json: "10000")
            return request(
                .queryKeys(users: batch.map(\.key.string)), body: body.text,
                generations: Dictionary(batch.map { ($0.key, $0.value) }) { $1 })
        }
    }

    private func isFailing(_ user: String, _ turn: CryptoTurn) -> Bool {
        (failingServers[ByteKey(Self.server(of: user))]?.until ?? 0) > turn.now
    }

    static func server(of user: String) -> String {
        String(user.drop { $0 != ":" }.dropFirst())
    }

    /// Returns whether the devices of all these users are up to date, or their server does not respond.
    package func areKnown(_ users: [String], _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        for user in users where try turn.records.value(TrackedUserRecord.self, key: user)?.isOutdated != false {
            guard isFailing(user, turn) else { return false }
        }
        return true
    }

    mutating func queried(
        _ users: [String], _ request: CryptoRequest, _ answer: JSONView, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let failures = Set(answer["failures"]?.members.map { ByteKey($0.key) } ?? [])
        for server in Set(users.map { ByteKey(Self.server(of: $0)) }) {
            if failures.contains(server) {
                failingServers[server, default: Pause()].fail(at: turn.now)
            } else {
                failingServers[server] = nil
            }
        }
        let listed = QueryAnswer(answer)
        for user in users where !failures.contains(ByteKey(Self.server(of: user))) {
            try takeIdentity(of: user, listed, &turn)
            try takeDevices(of: user, listed["device_keys", user], &turn)
            guard var tracked: TrackedUserRecord = try turn.records.value(key: user),
                tracked.generation == request.generations[ByteKey(user)]
            else { continue }  // changed since, so it is queried again
            tracked.isOutdated = false
            turn.records.set(tracked, key: user)
        }
        deviceEpoch += 1
        for user in users {
            try releaseHeldMessages(of: user, isFinal: !failures.contains(ByteKey(Self.server(of: user))), &turn)
        }
        try tellHistory(of: users, &turn)
        try noteKeysForVerifications(of: users, &turn)
    }

    // MARK: Devices

    private mutating func takeDevices(
        of user: String, _ listed: JSONView?, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var missing = Set(try turn.records.values(DeviceRecord.self, scope: user).map(\.key))
        var new: [String] = []
        for (id, json) in listed?.members ?? [] {
            guard let keys = try? DeviceKeys(json, user: user, device: id) else { continue }
            missing.remove(id)
            if try take(keys, isListed: true, &turn) { new.append(id) }
        }
        let address = me
        for id in missing where !(user.isExactly(address.user) && id.isExactly(address.device)) {
            guard var device: DeviceRecord = try turn.records.value(scope: user, key: id), device.isUsable else {
                continue
            }
            device.isDeleted = true
            turn.records.set(device, scope: user, key: id)
        }
        if !new.isEmpty || !missing.isEmpty { turn.notices.append(.devicesChanged(user: user, new: new.sorted())) }
    }

    /// - Parameter isListed: Whether the server lists the device. Otherwise it has announced itself.
    /// - Returns: Whether the device is new.
    @discardableResult
    mutating func take(
        _ keys: DeviceKeys, isListed: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        let address = DeviceAddress(keys.userID, keys.deviceID)
        if address == me {
            if keys.ed25519 != deviceKeys.ed25519 || keys.curve25519 != deviceKeys.curve25519 {
                turn.notices.append(.ownKeysReplaced)
            } else if var own: DeviceRecord = try turn.records.value(scope: me.user, key: me.device) {
                own.keys = keys  // with later signatures
                turn.records.set(own, scope: me.user, key: me.device)
            }
            return false
        }
        guard var known: DeviceRecord = try turn.records.value(scope: address.user, key: address.device) else {
            // If two devices of any users shared a key, one could speak for the other.
            if let other: DeviceByKeyRecord = try turn.records.value(key: keys.curve25519.base64),
                other.address != address
            {
                turn.notices.append(.deviceKeysRefused(address))
                return false
            }
            remember(DeviceRecord(keys: keys, isListed: isListed, firstSeen: turn.now), &turn)
            return true
        }
        guard known.keys.ed25519 == keys.ed25519, known.keys.curve25519 == keys.curve25519 else {
            if !known.isSuspicious { turn.notices.append(.deviceKeysRefused(address)) }
            known.isSuspicious = true
            turn.records.set(known, scope: address.user, key: address.device)
            return false
        }
        guard isListed else { return false }
        let isNews = !known.isUsable
        (known.keys, known.isListed, known.isDeleted) = (keys, true, false)
        turn.records.set(known, scope: address.user, key: address.device)
        return isNews
    }

    func remember(_ device: DeviceRecord, _ turn: inout CryptoTurn) {
        turn.records.set(device, scope: device.keys.userID, key: device.keys.deviceID)
        turn.records.set(DeviceByKeyRecord(device.address), key: device.keys.curve25519.base64)
    }

    /// Returns the device with an identity key.
    func device(
        _ user: String, with key: Curve25519PublicKey, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> DeviceRecord? {
        guard let address = try turn.records.value(DeviceByKeyRecord.self, key: key.base64)?.address,
            address.user.isExactly(user),
            let device: DeviceRecord = try turn.records.value(scope: address.user, key: address.device),
            device.keys.curve25519 == key
        else { return nil }
        return device
    }

    /// Returns the devices of a user that the server lists.
    package func devices(of user: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> [DeviceRecord] {
        try turn.records.values(DeviceRecord.self, scope: user).map(\.value).filter(\.isUsable)
    }

    /// Sets the user's own trust in a device.
    package mutating func setTrust(
        _ trust: DeviceRecord.LocalTrust, of address: DeviceAddress, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard var device: DeviceRecord = try turn.records.value(scope: address.user, key: address.device) else {
            throw .ids
        }
        device.trust = trust
        turn.records.set(device, scope: address.user, key: address.device)
        deviceEpoch += 1
    }

    // MARK: Identities

    private mutating func takeIdentity(
        of user: String, _ answer: QueryAnswer, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let json = answer["master_keys", user],
            let master = try? CrossSigningKey(json, user: user, usage: .master)
        else { return }
        var identity = try turn.records.value(IdentityRecord.self, key: user) ?? IdentityRecord(master: master)
        let had = identity.master.publicKey
        identity.master = master
        func key(_ section: String, _ usage: CrossSigningUsage) -> CrossSigningKey? {
            guard let json = answer[section, user], let key = try? CrossSigningKey(json, user: user, usage: usage),
                (try? key.verifySignature(by: master)) != nil
            else { return nil }
            return key
        }
        // A key that a server leaves out stays valid while the master key is the same.
        if had != master.publicKey { (identity.selfSigning, identity.userSigning) = (nil, nil) }
        identity.selfSigning = key("self_signing_keys", .selfSigning) ?? identity.selfSigning
        if user.isExactly(me.user) {
            identity.userSigning = key("user_signing_keys", .userSigning) ?? identity.userSigning
        }
        if user.isExactly(me.user), try adoptNewIdentity(master, &turn) { return }
        turn.records.set(identity, key: user)
        if had != master.publicKey { turn.notices.append(.identityChanged(user: user)) }
        try noteVerified(user, &turn)
    }
}

/// The answer to a query, indexed once: searching it for each of hundreds of users would take quadratic time.
private struct QueryAnswer {
    private let sections: [ByteKey: [ByteKey: JSONView]]

    init(_ answer: JSONView) {
        sections = Dictionary(
            answer.members.map { section, users in
                (
                    ByteKey(section),
                    Dictionary(users.members.map { (ByteKey($0.key), $0.value) }, uniquingKeysWith: { $1 })
                )
            }, uniquingKeysWith: { $1 })
    }

    subscript(section: String, user: String) -> JSONView? { sections[ByteKey(section)]?[ByteKey(user)] }
}
