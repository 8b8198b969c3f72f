package import Basics
package import JSONBytes

/// A step of the machine, with its inputs and results.
///
/// The caller commits ``Records/changes`` before sending a request or delivering a notice.
package struct CryptoTurn: Sendable {
    package var records: Records
    /// The time in milliseconds since 1970.
    package let now: UInt64
    let random: RandomSource
    package var notices: [CryptoNotice] = []
    /// Room sessions as advanced by this turn, by id. The records hold their initial state, and catching up takes time
    /// for each message since.
    var readSessions: [ByteKey: InboundGroupSession] = [:]
    /// Events that this turn failed to decrypt with what it knows. The next one that knows more tries again.
    var unreadable: Set<RecordKey> = []

    /// Stored events that the user is viewing, by room. The end of the turn tries them again.
    package var lookedAt: [ByteKey: [String]] = [:]

    package init(_ records: Records, now: UInt64, random: RandomSource) {
        (self.records, self.now, self.random) = (records, now, random)
    }
}

/// A notice for the application.
package enum CryptoNotice: Sendable, Equatable {
    /// Messages of the session can be decrypted from now on.
    case roomKey(roomId: String, sessionId: String)
    /// The reason why messages of the session cannot be decrypted has changed.
    case withheld(roomId: String, sessionId: String)
    /// A user's devices have changed.
    case devicesChanged(user: String, new: [String])
    /// A user's master key has changed. For our own user this is an alarm: nothing is signed for it or trusted until
    /// the user has accepted or verified it.
    case identityChanged(user: String)
    /// The verification of a user or their devices may have changed.
    case trustChanged(user: String)
    /// The server has refused signatures of these users' keys.
    case signaturesRefused(users: [String])
    /// The server lists other keys for a device than before. They are not used.
    case deviceKeysRefused(DeviceAddress)
    /// The server lists other keys for this device than its own.
    case ownKeysReplaced
    /// The server has a one-time key of another store under one of our ids, so this store is older than the device's
    /// latest one. This process uploads no more.
    case oneTimeKeysRefused
    /// The store is a copy or an older state of itself. Everything used for sending is discarded. Two copies interfere.
    case storeWasCopied
    /// A secret has arrived from another device of ours.
    case secretReceived(SecretName)
    /// The backup has changed, or its key has arrived.
    case backupChanged
    /// The server has refused to create, return or delete the backup.
    case backupRefused
    /// The whole backup was imported.
    case backupRestored(BackupRestoration)
    /// The user who invited this one to a room offers its history: see ``CryptoMachine/offeredHistory(of:_:)``.
    case history(roomId: String, from: String)
    /// An encrypted message to this device that is not for the machine: an object with `type`, `content`, `sender`; and
    /// the identity key of the sending device.
    case toDevice(JSONView, senderKey: Curve25519PublicKey)
    /// A verification has begun, or its state has changed.
    case verificationChanged(Verification.ID)
    /// A message was dropped, with the reason, for the log.
    case dropped(type: String, sender: String, EncryptionError)
}

/// A request to the server.
package struct CryptoRequest: Sendable, Equatable {
    package enum Call: Sendable, Equatable {
        /// `POST /keys/upload`.
        case uploadKeys
        /// `POST /keys/query`.
        case queryKeys(users: [String])
        /// `POST /keys/claim`.
        case claimKeys([DeviceAddress])
        /// `PUT /sendToDevice/{type}/{transaction}`. Retries with the same id are delivered once.
        case sendToDevice(type: String, transactionId: String)
        /// `POST /keys/signatures/upload`.
        case uploadSignatures
        /// `GET /room_keys/version`.
        case checkBackup
        /// `POST /room_keys/version`.
        case makeBackup
        /// `DELETE /room_keys/version/{version}`.
        case deleteBackup(version: String)
        /// `PUT /room_keys/keys?version={version}`.
        case uploadRoomKeys(version: String)
        /// `GET /room_keys/keys?version={version}`.
        case downloadRoomKeys(version: String)
        /// `GET /room_keys/keys/{room}/{session}?version={version}`.
        case downloadRoomKey(version: String, roomId: String, sessionId: String)
        /// A verification event for all devices in a room. The body is its unencrypted content; it is encrypted if the
        /// room is. Retries with the same id are sent once. The server's answer contains its `event_id`.
        case sendToRoom(roomId: String, type: String, transactionId: String)
    }

    package let id: UInt64
    package let call: Call
    /// The body as JSON text; empty for calls without one.
    package let body: String
    /// The key in the outbox, for requests that must survive a crash.
    let outboxKey: String?
    /// The generations of the queried users at the time of the query.
    let generations: [ByteKey: UInt64]

    init(
        id: UInt64, _ call: Call, body: String, outboxKey: String? = nil, generations: [ByteKey: UInt64] = [:]
    ) {
        (self.id, self.call, self.body) = (id, call, body)
        (self.outboxKey, self.generations) = (outboxKey, generations)
    }
}

extension CryptoRequest.Call {
    /// The kind of the request. Requests of one kind fail and pause together.
    var kind: String {
        switch self {
        case .uploadKeys: "upload"
        case .queryKeys: "query"
        case .claimKeys: "claim"
        case .sendToDevice: "to-device"
        case .uploadSignatures: "signatures"
        case .checkBackup: "backup version"
        case .makeBackup: "new backup"
        case .deleteBackup: "backup deletion"
        case .uploadRoomKeys: "backup upload"
        case .downloadRoomKeys: "backup download"
        case .downloadRoomKey: "backup session"
        case .sendToRoom: "to-room"
        }
    }
}
