import JSONBytes

/// A bundle of a room's keys to share with an invited user.
struct HistoryShareRecord: Record, Equatable {
    static let kind = RecordKind.historyShare
    private static let version: UInt8 = 1

    let user: String
    /// The content of `m.room_key_bundle`, including the key of the file.
    let content: JSONView
    /// The time in milliseconds since 1970.
    let time: UInt64
    /// The ids of devices that have received it.
    var given: [String] = []

    init(user: String, content: JSONView, time: UInt64) {
        (self.user, self.content, self.time) = (user, content, time)
    }

    static func key(_ roomId: String, _ user: String) -> String { roomId + "\n" + user }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(user)
        writer.append(content.compactText)
        writer.append(time)
        writer.append(given) { $0.append($1) }
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        user = try reader.text()
        guard let content = JSONView(Array(try reader.text().utf8)) else { throw .state }
        (self.content, time) = (content, try reader.number())
        given = try reader.list { reader throws(EncryptionError) in try reader.text() }
        try reader.end()
    }

    static func == (lhs: HistoryShareRecord, rhs: HistoryShareRecord) -> Bool { lhs.state == rhs.state }
}

/// A bundle of a room's keys that another user has offered.
struct HistoryOfferRecord: Record, Equatable {
    static let kind = RecordKind.historyOffer
    private static let version: UInt8 = 1

    let roomId: String
    let user: String
    /// The identity key of the device that created it.
    let curve25519: Curve25519PublicKey
    let file: EncryptedFile
    /// The time in milliseconds since 1970.
    let time: UInt64
    /// Whether it was reported to the application.
    var isTold = false

    init(roomId: String, user: String, curve25519: Curve25519PublicKey, file: EncryptedFile, time: UInt64) {
        (self.roomId, self.user, self.curve25519) = (roomId, user, curve25519)
        (self.file, self.time) = (file, time)
    }

    static func key(_ roomId: String, _ user: String) -> String { user + "\n" + roomId }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(roomId)
        writer.append(user)
        writer.append(curve25519)
        writer.append(file.json.compactText)
        writer.append(time)
        writer.append(isTold)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        (roomId, user) = (try reader.text(), try reader.text())
        curve25519 = try reader.key()
        guard let json = JSONView(Array(try reader.text().utf8)) else { throw .state }
        (file, time, isTold) = (try EncryptedFile(json), try reader.number(), try reader.flag())
        try reader.end()
    }
}

/// The user whose invitation to a room this user has accepted.
struct InvitationRecord: Record, Equatable {
    static let kind = RecordKind.invitation
    private static let version: UInt8 = 1

    let inviter: String
    /// The time of joining in milliseconds since 1970.
    let time: UInt64

    init(inviter: String, time: UInt64) { (self.inviter, self.time) = (inviter, time) }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(inviter)
        writer.append(time)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        (inviter, time) = (try reader.text(), try reader.number())
        try reader.end()
    }
}
