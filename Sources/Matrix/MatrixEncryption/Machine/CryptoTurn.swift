package import Basics
package import JSONBytes

/// One step of the machine: what it works on, and what comes of it.
///
/// Whoever gives it commits ``Records/changes`` before a request is sent or a notice is told.
package struct CryptoTurn: Sendable {
    package var records: Records
    /// Milliseconds since 1970.
    package let now: UInt64
    let random: RandomSource
    package var notices: [CryptoNotice] = []
    /// Sessions of rooms as far as they have read, by their ids: the records have them as they began, and a step takes its time
    /// for each message since then.
    var readSessions: [ByteKey: InboundGroupSession] = [:]
    /// Events that this step has read in vain, with what it knows: the next one that knows more reads them again.
    var unreadable: Set<RecordKey> = []

    /// Stored events that somebody looks at, by rooms: the end of the step reads them again.
    package var lookedAt: [ByteKey: [String]] = [:]

    package init(_ records: Records, now: UInt64, random: RandomSource) {
        (self.records, self.now, self.random) = (records, now, random)
    }
}

/// What the application is told.
package enum CryptoNotice: Sendable, Equatable {
    /// Messages of the session can be read from now on.
    case roomKey(roomId: String, sessionId: String)
    /// Why messages of the session cannot be read has changed.
    case withheld(roomId: String, sessionId: String)
    /// A user's devices are others than before.
    case devicesChanged(user: String, new: [String])
    /// A user's master key is another one than before. Of our own user an alarm: nothing is signed for it, and nothing
    /// trusted, until the user has accepted or verified it.
    case identityChanged(user: String)
    /// Whether a user or his devices are verified may have changed.
    case trustChanged(user: String)
    /// The server has not taken signatures of these users' keys.
    case signaturesRefused(users: [String])
    /// The server names other keys for a device than before, which are not used.
    case deviceKeysRefused(DeviceAddress)
    /// The server names other keys for this device than it has.
    case ownKeysReplaced
    /// The server has a one-time key of another store under an id of ours: this store is older than the device's last one. It
    /// is given no more by this process.
    case oneTimeKeysRefused
    /// The store is a copy, or an older state of itself: what was sent with is given up. Two copies in use hinder each other.
    case storeWasCopied
    /// A secret has come from another device of ours.
    case secretReceived(SecretName)
    /// There is another backup than before, or its key has come.
    case backupChanged
    /// The server has not made, given or deleted the backup.
    case backupRefused
    /// All that the backup had was taken.
    case backupRestored(BackupRestoration)
    /// The user who has invited this one to a room offers what was said there: see ``CryptoMachine/offeredHistory(of:_:)``.
    case history(roomId: String, from: String)
    /// A message to this device that was encrypted, and is not for the machine: an object with `type`, `content`, `sender`;
    /// and the identity key of the device that has sent it.
    case toDevice(JSONView, senderKey: Curve25519PublicKey)
    /// A verification has begun, or is in another state than before.
    case verificationChanged(Verification.ID)
    /// A message that was dropped, and why: for the log.
    case dropped(type: String, sender: String, EncryptionError)
}

/// Something to ask the server for.
package struct CryptoRequest: Sendable, Equatable {
    package enum Call: Sendable, Equatable {
        /// `POST /keys/upload`.
        case uploadKeys
        /// `POST /keys/query`.
        case queryKeys(users: [String])
        /// `POST /keys/claim`.
        case claimKeys([DeviceAddress])
        /// `PUT /sendToDevice/{type}/{transaction}`. Repeated with the same id, it is delivered once.
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
        /// An event of a verification, for everybody's devices in the room: the body is its content, in clear. It is
        /// encrypted if the room is. Repeated with the same id, it is sent once. The server's answer has its `event_id`.
        case sendToRoom(roomId: String, type: String, transactionId: String)
    }

    package let id: UInt64
    package let call: Call
    /// JSON text; empty for calls without a body.
    package let body: String
    /// In the outbox, for what must be sent after a crash, too.
    let outboxKey: String?
    /// Of the users that are asked for, as they were when the query was made.
    let generations: [ByteKey: UInt64]

    init(
        id: UInt64, _ call: Call, body: String, outboxKey: String? = nil, generations: [ByteKey: UInt64] = [:]
    ) {
        (self.id, self.call, self.body) = (id, call, body)
        (self.outboxKey, self.generations) = (outboxKey, generations)
    }
}

extension CryptoRequest.Call {
    /// Requests of one kind fail and wait together.
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
