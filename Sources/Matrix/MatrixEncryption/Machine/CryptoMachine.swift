import Basics
package import JSONBytes

/// Encryption for one device of a user: which devices there are, who has which keys, and what is asked of the server.
///
/// A value without a network, a clock or randomness of its own. All that must survive is in the records of the turn; what
/// it keeps itself is what was asked and not answered yet.
package struct CryptoMachine: Sendable {
    package let me: DeviceAddress
    package internal(set) var account: OlmAccount
    /// The public keys of this device, signed by it.
    package let deviceKeys: DeviceKeys
    /// Who is given keys, where a room has no other policy.
    package internal(set) var policy = SharingPolicy.crossSigned

    /// Sent, and not answered yet.
    var inFlight: [UInt64: CryptoRequest] = [:]
    private var lastRequest: UInt64 = 0
    /// Kinds of calls that fail: until when they wait.
    var pauses: [String: Pause] = [:]  // own names: kinds of calls
    /// Servers whose users could not be asked for.
    var failingServers: [ByteKey: Pause] = [:]
    /// How many one-time keys the server has; nil before it has told.
    var oneTimeKeyCount: Int?
    /// The server has other keys under ids of ours: it is given no more.
    var areUploadsRefused = false
    /// The fallback key was given to somebody, or the server has none.
    var isFallbackKeyUsed = false
    /// Devices that gave no one-time key when they were asked: when.
    var unclaimable: [DeviceAddress: UInt64] = [:]
    /// Users who are only invited to a room: when their devices were last asked for. Milliseconds since 1970.
    var invitedAsked: [ByteKey: UInt64] = [:]
    /// Devices that a room waits for a one-time key of.
    var wanted: Set<DeviceAddress> = []
    /// Rooms in which everybody has the session, as of the devices of then.
    var ready: [ByteKey: Ready] = [:]
    /// Counts changes of devices, identities and policies.
    var deviceEpoch: UInt64 = 0
    /// Channels that were used last before this are not sent with: see ``noteCopy(_:)``. Milliseconds since 1970.
    var channelsBefore: UInt64 = 0
    var traffic = KeyTraffic()
    var backup = BackupWork()
    var history = HistoryWork()
    /// Verifications that run, and those that have ended lately, in the order in which they began.
    package internal(set) var verifications: [Verification] = []
    /// How this device can be verified: whether its application shows codes, and scans them.
    package var verificationMethods = Set(VerificationMethod.allCases)
    var verificationTraffic = VerificationTraffic()

    struct Pause: Sendable, Equatable {
        var failures = 0
        /// Milliseconds since 1970.
        var until: UInt64 = 0
        /// The part of it that the server has asked for.
        var asked: UInt64 = 0
    }

    struct Ready: Sendable, Equatable {
        let sessionId: String
        let epoch: UInt64
        let room: RoomToEncrypt
    }

    /// The device as it was stored, or a new one, whose keys the turn then stores.
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
        backup.asksForVersion = try isBackupChanging(&turn)  // there may be another one since
        try noteCopy(&turn)
    }

    /// When this device's keys were made, in milliseconds since 1970.
    package func creationTime(_ turn: inout CryptoTurn) throws(EncryptionError) -> UInt64? {
        try turn.records.value(DeviceRecord.self, scope: me.user, key: me.device)?.firstSeen
    }

    /// What servers say of a key under an id that another one has.
    private static let otherKeysExist = "M_UNKNOWN"

    /// What servers say of a request that is larger than they take.
    package static let tooLarge = "M_TOO_LARGE"

    // MARK: Requests

    /// What is to be sent now. Each is in flight until ``answered(_:_:_:)`` or ``failed(_:_:_:)`` tells of it.
    package mutating func requests(_ turn: inout CryptoTurn) throws(EncryptionError) -> [CryptoRequest] {
        var requests: [CryptoRequest] = []
        if let upload = try keyUpload(&turn) { requests.append(upload) }
        requests += try keyRequests(&turn)
        requests += try keyQueries(&turn)
        if let claim = try keyClaim(&turn) { requests.append(claim) }
        // Whoever hears of a device looks it up: as long as the server does not know it, they would find nothing and drop what
        // it has sent, and the server would refuse its signatures. If the server never takes its keys, the user is told.
        let isPublished = try isPublished(&turn)
        if isPublished || areUploadsRefused {
            requests += try outbox(&turn)
            requests += verificationMessages(turn)
        }
        for request in requests { inFlight[request.id] = request }
        noteTime(turn.now)
        return requests
    }

    /// Nobody needs to be woken any more for pauses that are over.
    private mutating func noteTime(_ now: UInt64) {
        for (kind, pause) in pauses where pause.until <= now { pauses[kind]?.until = 0 }
        for (server, pause) in failingServers where pause.until <= now { failingServers[server]?.until = 0 }
        if let due = backup.due, due <= now { backup.due = 0 }
    }

    /// When the next request is to be sent that waits for the end of a pause; nil if none does.
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
    ///   - isFinal: The server has refused it, and would refuse it again.
    ///   - code: The server's `errcode`, if it has sent one.
    ///   - retryAfter: Milliseconds that the server asks for.
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
        // Asked again, the server may give keys.
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

    /// Whether something was sent, and is not answered yet.
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

    /// The network is back: nothing waits any longer, unless the server has asked for it.
    package mutating func retryNow() {
        for kind in pauses.keys { pauses[kind]?.shorten() }
        for roomId in history.pauses.keys { history.pauses[roomId]?.shorten() }
        for server in failingServers.keys { failingServers[server]?.until = 0 }
    }
}

extension CryptoMachine.Pause {
    /// 15 seconds, and twice as long each time up to ten minutes.
    mutating func fail(at now: UInt64, atLeast minimum: UInt64 = 0) {
        failures += 1
        asked = now + min(minimum, 600_000)
        until = max(now + min(15_000 << UInt64(min(failures - 1, 6)), 600_000), asked)
    }

    /// Only what the server has asked for is left of it.
    mutating func shorten() { until = min(until, asked) }
}

extension OlmAccount: Record {
    package static let kind = RecordKind.account
}
