import Basics
package import JSONBytes

/// The encryption of one of a user's devices: the known devices, who has which keys, and the requests to the server.
///
/// A value without a network, clock or randomness of its own. All persistent data is in the records of the turn; the
/// machine itself only keeps track of unanswered requests.
package struct CryptoMachine: Sendable {
    package let me: DeviceAddress
    package internal(set) var account: OlmAccount
    /// The public keys of this device, signed by it.
    package let deviceKeys: DeviceKeys
    /// The policy for giving keys in rooms without their own.
    package internal(set) var policy = SharingPolicy.crossSigned

    /// The requests that have not been answered yet.
    var inFlight: [UInt64: CryptoRequest] = [:]
    private var lastRequest: UInt64 = 0
    /// The pauses of failing calls, by kind.
    var pauses: [String: Pause] = [:]  // own names: kinds of calls
    /// The servers whose users could not be queried.
    var failingServers: [ByteKey: Pause] = [:]
    /// The number of one-time keys on the server; `nil` until it is reported.
    var oneTimeKeyCount: Int?
    /// Whether the server has other keys under our ids. No more are uploaded then.
    var areUploadsRefused = false
    /// Whether the fallback key was given out, or the server has none.
    var isFallbackKeyUsed = false
    /// The times at which devices had no one-time key.
    var unclaimable: [DeviceAddress: UInt64] = [:]
    /// The times at which the devices of users who are only invited were last queried, in milliseconds since 1970.
    var invitedAsked: [ByteKey: UInt64] = [:]
    /// The devices whose one-time keys a room is waiting for.
    var wanted: Set<DeviceAddress> = []
    /// The rooms in which all devices known at the time have the session.
    var ready: [ByteKey: Ready] = [:]
    /// A counter of changes to devices, identities and policies.
    var deviceEpoch: UInt64 = 0
    /// Channels last used before this time are not used for sending: see ``noteCopy(_:)``. Milliseconds since 1970.
    var channelsBefore: UInt64 = 0
    var traffic = KeyTraffic()
    var backup = BackupWork()
    var history = HistoryWork()
    /// The running verifications and those that ended recently, in order of their start.
    package internal(set) var verifications: [Verification] = []
    /// The verification methods that the application supports: whether it shows codes, and scans them.
    package var verificationMethods = Set(VerificationMethod.allCases)
    var verificationTraffic = VerificationTraffic()

    struct Pause: Sendable, Equatable {
        var failures = 0
        /// The time in milliseconds since 1970.
        var until: UInt64 = 0
        /// The part of the pause that the server has asked for.
        var asked: UInt64 = 0
    }

    struct Ready: Sendable, Equatable {
        let sessionId: String
        let epoch: UInt64
        let room: RoomToEncrypt
    }

    /// Loads the stored device, or creates a new one, whose keys the turn then stores.
    ///
    /// - Throws: `state` if the device's keys cannot be read: it can never be replaced.
    package init(me: DeviceAddress, _ turn: inout CryptoTurn) throws(EncryptionError) {
        self.me = me
        let damaged = turn.records.damaged
        if let known: OlmAccount = try turn.records.value() {
            account = known
        } else {
            guard turn.records.damaged == damaged else { throw .state }
            account = OlmAccount(random: turn.random)
            turn.records.set(account)
        }
        policy = try Self.storedPolicy(&turn) ?? .crossSigned
        deviceKeys = try DeviceKeys(
            userID: me.user, deviceID: me.device, identityKey: account.curve25519.publicKey,
            fingerprint: account.ed25519)
        if try turn.records.value(DeviceRecord.self, scope: me.user, key: me.device) == nil {
            var own = DeviceRecord(keys: deviceKeys, isListed: true, firstSeen: turn.now)
            own.trust = .verified
            remember(own, &turn)
        }
        backup.deletions = try storedDeletions(&turn)
        backup.asksForVersion = try isBackupChanging(&turn)  // another one may exist by now
        try noteCopy(&turn)
    }

    /// Returns the time at which this device's keys were created, in milliseconds since 1970.
    package func creationTime(_ turn: inout CryptoTurn) throws(EncryptionError) -> UInt64? {
        try turn.records.value(DeviceRecord.self, scope: me.user, key: me.device)?.firstSeen
    }

    /// The servers' error code for a key whose id is taken by another.
    private static let otherKeysExist = "M_UNKNOWN"

    /// The servers' error code for a request that is too large.
    package static let tooLarge = "M_TOO_LARGE"

    // MARK: Requests

    /// Returns the requests to send now, in flight until ``answered(_:_:_:)`` or ``failed(_:_:_:)`` is called for them.
    package mutating func requests(_ turn: inout CryptoTurn) throws(EncryptionError) -> [CryptoRequest] {
        var requests: [CryptoRequest] = []
        if let upload = try keyUpload(&turn) { requests.append(upload) }
        requests += try keyRequests(&turn)
        requests += try keyQueries(&turn)
        if let claim = try keyClaim(&turn) { requests.append(claim) }
        // Send nothing before the server knows this device: recipients would look it up, find nothing and drop the
        // message, and the server would refuse its signatures. If the server never accepts its keys, the user is
        // notified.
        let isPublished = try isPublished(&turn)
        if isPublished || areUploadsRefused {
            requests += try outbox(&turn)
            requests += verificationMessages(turn)
        }
        for request in requests { inFlight[request.id] = request }
        noteTime(turn.now)
        return requests
    }

    /// Clears expired pauses, so that they cause no more wake-ups.
    private mutating func noteTime(_ now: UInt64) {
        for (kind, pause) in pauses where pause.until <= now { pauses[kind]?.until = 0 }
        for (server, pause) in failingServers where pause.until <= now { failingServers[server]?.until = 0 }
        if let due = backup.due, due <= now { backup.due = 0 }
    }

    /// The time of the next request that is waiting for the end of a pause; `nil` if there is none.
    package var nextRetry: UInt64? {
        ((Array(pauses.values) + failingServers.values + history.pauses.values).map(\.until) + [
            backup.due ?? 0, backup.download == nil && history.downloads.isEmpty ? 0 : 1,
        ]).filter { $0 > 0 }.min()
    }

    package mutating func answered(
        _ id: UInt64, _ answer: JSONView, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let request = inFlight.removeValue(forKey: id) else { return }
        let pause = pauses.removeValue(forKey: request.call.kind)
        switch request.call {
        case .uploadKeys: try uploaded(request, answer, after: pause, &turn)
        case .queryKeys(let users): try queried(users, request, answer, &turn)
        case .claimKeys(let devices): try claimed(devices, answer, &turn)
        case .sendToDevice: try delivered(request, &turn)
        case .uploadSignatures: try signaturesAnswered(request, answer, &turn)
        case .checkBackup, .makeBackup, .deleteBackup, .uploadRoomKeys, .downloadRoomKeys, .downloadRoomKey:
            try backupAnswered(request.call, answer, &turn)
        case .sendToRoom(_, _, let id): try verificationMessageSent(id, eventId: answer["event_id"]?.idText, &turn)
        }
    }

    /// - Parameters:
    ///   - isFinal: Whether the server has refused the request and would refuse it again.
    ///   - code: The server's `errcode`, if it sent one.
    ///   - retryAfter: The delay in milliseconds that the server asks for.
    package mutating func failed(
        _ id: UInt64, isFinal: Bool, code: String = "", retryAfter: UInt64 = 0, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let request = inFlight.removeValue(forKey: id) else { return }
        switch request.call {
        case .uploadKeys:
            if isFinal, code == Self.otherKeysExist {
                areUploadsRefused = true
                turn.notices.append(.oneTimeKeysRefused)
            }
        case .sendToDevice, .uploadSignatures:
            if isFinal, code == Self.tooLarge, try halve(request, &turn) { return }
            if isFinal { return try refused(request, &turn) }
        // The server may give keys if asked again.
        case .claimKeys(let devices):
            if isFinal { for device in devices { unclaimable[device] = turn.now } }
        case .sendToRoom(_, _, let id):
            if isFinal { return try verificationMessageSent(id, eventId: nil, &turn) }
        case .queryKeys: break
        case .checkBackup, .makeBackup, .deleteBackup, .uploadRoomKeys, .downloadRoomKeys, .downloadRoomKey:
            if try backupFailed(request.call, isFinal: isFinal, code: code, &turn) {
                pauses[request.call.kind] = nil
                return
            }
        }
        pauses[request.call.kind, default: Pause()].fail(at: turn.now, atLeast: retryAfter)
    }

    /// Whether any request is unanswered.
    package var isBusy: Bool { !inFlight.isEmpty }

    func isPaused(_ kind: String, _ turn: CryptoTurn) -> Bool {
        (pauses[kind]?.until ?? 0) > turn.now
    }

    func isInFlight(_ kind: String) -> Bool { inFlight.values.contains { $0.call.kind == kind } }

    mutating func request(
        _ call: CryptoRequest.Call, body: String, outboxKey: String? = nil, generations: [ByteKey: UInt64] = [:]
    ) -> CryptoRequest {
        lastRequest += 1
        return CryptoRequest(id: lastRequest, call, body: body, outboxKey: outboxKey, generations: generations)
    }

    /// Ends all pauses when the network is back, except those that the server has asked for.
    package mutating func retryNow() {
        for kind in pauses.keys { pauses[kind]?.shorten() }
        for roomId in history.pauses.keys { history.pauses[roomId]?.shorten() }
        for server in failingServers.keys { failingServers[server]?.until = 0 }
    }
}

extension CryptoMachine.Pause {
    /// Starts or extends the pause: 15 seconds at first, then doubled each time up to ten minutes.
    mutating func fail(at now: UInt64, atLeast minimum: UInt64 = 0) {
        failures += 1
        asked = now + min(minimum, 600_000)
        until = max(now + min(15_000 << UInt64(min(failures - 1, 6)), 600_000), asked)
    }

    /// Reduces the pause to what the server has asked for.
    mutating func shorten() { until = min(until, asked) }
}

extension OlmAccount: Record {
    package static let kind = RecordKind.account
}
