import Basics
import JSONBytes

/// The in-memory state of key requests.
///
/// An epoch is that of the devices when nothing was left to do; `nil` if something has arrived since.
struct KeyTraffic: Sendable {
    /// The number of sessions that events wait for; `nil` before they are counted.
    var missing: Int?
    var missingEpoch: UInt64?
    var secretEpoch: UInt64?
    /// The number of requests by requesting device; `nil` before they are counted.
    var questions: [DeviceAddress: Int]?
    var questionEpoch: UInt64?
}

/// Missing room keys: the machine looks for them in the backup, and requests them from the user's other devices
/// (Documentation/Rules/encryption.md, "Missing keys and requests from other devices").
extension CryptoMachine {
    /// Keeps a room full of unknown sessions from filling the store.
    private static let maximumMissingSessions = 1_000
    /// The maximum number of requests per hour. Other devices answer no more.
    private static let requestsOfAnHour: UInt64 = 100
    /// The minimum time in milliseconds between two attempts to find a session in the backup.
    private static let seekingInterval: UInt64 = 300_000
    private static let maximumForwarders = 20

    // MARK: Missing sessions

    /// Records that an event is waiting for a session.
    ///
    /// - Parameter senderKey: The identity key of the sender's device, if the event names it.
    mutating func noteMissing(
        _ roomId: String, _ sessionId: String, senderKey: String?, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let session = SessionAddress(roomId, sessionId) else { return }
        if var known: MissingSessionRecord = try turn.records.value(key: session.key) {
            if known.request == nil, known.senderKey == nil, let senderKey {
                known.senderKey = senderKey
                turn.records.set(known, key: session.key)
            }
            let isRecent = known.sought <= turn.now && turn.now - known.sought < Self.seekingInterval
            guard known.sought > 0, !known.isToBeSought, !isRecent else { return }
            (known.wanted, known.sought) = (turn.now, 0)
            turn.records.set(known, key: session.key)
        } else {
            try makeRoomForMissing(&turn)
            turn.records.set(MissingSessionRecord(wanted: turn.now, senderKey: senderKey), key: session.key)
            traffic.missing? += 1
        }
        traffic.missingEpoch = nil
    }

    /// Looks for a session again, and repeats the request to our devices, when the user asks for it.
    package mutating func requestAgain(
        roomId: String, sessionId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let session = SessionAddress(roomId, sessionId) else { return }
        let known: MissingSessionRecord? = try turn.records.value(key: session.key)
        try closeMissing(session, &turn)
        try noteMissing(roomId, sessionId, senderKey: known?.senderKey, &turn)
    }

    private mutating func makeRoomForMissing(_ turn: inout CryptoTurn) throws(EncryptionError) {
        let count: Int
        if let known = traffic.missing {
            count = known
        } else {
            count = try turn.records.values(MissingSessionRecord.self).count
            traffic.missing = count
        }
        guard count >= Self.maximumMissingSessions else { return }
        // Drop half of them at once, rather than one at a time. Viewing the events requests the keys again.
        let oldest = try turn.records.values(MissingSessionRecord.self).sorted { $0.value.wanted < $1.value.wanted }
            .prefix(count / 2)
        for (key, _) in oldest { turn.records.remove(.missingSession, key: key) }
        traffic.missing = count - oldest.count
    }

    /// Removes a session that has arrived, and cancels its requests.
    mutating func closeMissing(
        _ session: SessionAddress, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let record: MissingSessionRecord = try turn.records.value(key: session.key) else { return }
        turn.records.remove(.missingSession, key: session.key)
        traffic.missing? -= 1
        guard let request = record.request else { return }
        try cancel("m.room_key_request", request.id, at: request.devices, &turn)
    }

    mutating func cancel(
        _ type: String, _ requestId: String, at devices: [String], _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var content = JSONWriter()
        content.add("action", "request_cancellation")
        content.add("request_id", requestId)
        content.add("requesting_device_id", me.device)
        try post(type, devices.map { (DeviceAddress(me.user, $0), content.view) }, shares: [], &turn)
    }

    // MARK: Searching for sessions

    /// Returns the other devices of this user, and the verified ones among them.
    func otherDevices(_ turn: inout CryptoTurn) throws(EncryptionError) -> (
        all: [DeviceRecord], verified: [DeviceRecord]
    ) {
        let all = try devices(of: me.user, &turn).filter { $0.address != me }
        var verified: [DeviceRecord] = []
        for device in all where try isVerifiedOwn(device, &turn) { verified.append(device) }
        return (all, verified)
    }

    /// Requests what the backup lacks from the devices. The newest come first, since the user is viewing them.
    ///
    /// - Returns: The session to look for in the backup.
    mutating func pursueMissing(
        hasBackup: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> SessionAddress? {
        guard traffic.missingEpoch != deviceEpoch else { return nil }
        let sessions = try turn.records.values(MissingSessionRecord.self).sorted { $0.value.wanted > $1.value.wanted }
        traffic.missing = sessions.count
        var sought: SessionAddress?
        var isSettled = true
        let unasked = sessions.filter { $0.value.request == nil && !(hasBackup && $0.value.isToBeSought) }
        if !unasked.isEmpty {
            let others = try otherDevices(&turn)
            if !others.verified.isEmpty {
                for (key, record) in unasked {
                    guard let session = SessionAddress(key: key) else { continue }
                    guard try ask(others.all, for: session, record, &turn) else {
                        isSettled = false
                        break
                    }
                }
            }
        }
        if hasBackup, let next = sessions.first(where: { $0.value.isToBeSought }) {
            sought = SessionAddress(key: next.key)
            isSettled = false
        }
        traffic.missingEpoch = isSettled ? deviceEpoch : nil
        return sought
    }

    /// - Returns: False if the limit of requests is reached.
    private mutating func ask(
        _ devices: [DeviceRecord], for session: SessionAddress, _ record: MissingSessionRecord, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        var count = try turn.records.value(HourlyCountRecord.self, scope: "asked") ?? HourlyCountRecord()
        guard count.take(one: Self.requestsOfAnHour, at: turn.now) else { return false }
        turn.records.set(count, scope: "asked")
        let id = turn.random.text(32)
        var body = JSONWriter()
        body.add("algorithm", Algorithm.megolm)
        body.add("room_id", session.roomId)
        if let senderKey = record.senderKey { body.add("sender_key", senderKey) }
        body.add("session_id", session.sessionId)
        var content = JSONWriter()
        content.add("action", "request")
        content.add("body", body)
        content.add("request_id", id)
        content.add("requesting_device_id", me.device)
        try post("m.room_key_request", devices.map { ($0.address, content.view) }, shares: [], &turn)
        var record = record
        record.request = .init(id: id, devices: devices.map(\.keys.deviceID))
        turn.records.set(record, key: session.key)
        return true
    }

    /// Records that the backup was searched for a session.
    mutating func noteSought(_ session: SessionAddress, _ turn: inout CryptoTurn) throws(EncryptionError) {
        traffic.missingEpoch = nil
        guard var record: MissingSessionRecord = try turn.records.value(key: session.key) else { return }
        record.sought = max(turn.now, record.wanted, 1)
        turn.records.set(record, key: session.key)
    }

    /// Searches again after a change of backup: the new one may have what the last one lacked.
    mutating func seekAllAgain(_ turn: inout CryptoTurn) throws(EncryptionError) {
        traffic.missingEpoch = nil
        for (key, var record) in try turn.records.values(MissingSessionRecord.self) where record.sought > 0 {
            record.sought = 0
            turn.records.set(record, key: key)
        }
    }

    // MARK: Forwarded keys

    /// Returns whether a device is one of ours with which keys and secrets are exchanged.
    func isVerifiedOwn(_ device: DeviceRecord, _ turn: inout CryptoTurn) throws(EncryptionError) -> Bool {
        guard device.keys.userID.isExactly(me.user), device.address != me, device.isUsable, !device.isSuspicious else {
            return false
        }
        return try trust(of: device, &turn).isVerified
    }

    /// Stores a key that was requested.
    mutating func receive(
        forwardedKey content: JSONView, from sender: Sender, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard try isVerifiedOwn(sender.device, &turn) else { throw .untrusted }
        guard content["algorithm"]?.string?.isExactly(Algorithm.megolm) == true else { throw .algorithm }
        guard let roomId = content["room_id"]?.string, let sessionId = content["session_id"]?.string,
            let senderKey = content["sender_key"]?.string, let key = content["session_key"]?.string,
            let claimedKey = content["sender_claimed_ed25519_key"]?.string
        else { throw .missingField }
        guard let session = SessionAddress(roomId, sessionId),
            let request = try turn.records.value(MissingSessionRecord.self, key: session.key)?.request,
            request.devices.contains(where: { $0.isExactly(sender.device.keys.deviceID) })
        else { throw .unasked }
        var chain: [Curve25519PublicKey] = []
        for key in (content["forwarding_curve25519_key_chain"]?.array ?? []).prefix(Self.maximumForwarders) {
            chain.append(try Curve25519PublicKey(base64: key.string ?? ""))
        }
        let exported = try ExportedSession(
            roomID: roomId, senderKey: Curve25519PublicKey(base64: senderKey),
            senderClaimedKey: Ed25519PublicKey(base64: claimedKey), forwardingChain: chain + [sender.curve25519],
            sessionKey: UnpaddedBase64.decodeSecret(key), isSharedHistory: content["shared_history"]?.bool ?? false)
        guard exported.sessionID.isExactly(sessionId) else { throw .ids }
        let isBetter = try add(record(exported, from: .forwarded, &turn), to: roomId, &turn)
        // No other device has a better one either.
        if !isBetter { try closeMissing(session, &turn) }
    }
}
