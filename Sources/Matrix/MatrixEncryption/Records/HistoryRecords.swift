import JSONBytes

/// A bundle of a room's keys that is to be given to somebody who was invited.
struct HistoryShareRecord: Record, Equatable {
    static let kind = RecordKind.historyShare
    private static let version: UInt8 = 1

    let user: String
    /// Of `m.room_key_bundle`: it holds the key of the file.
    let content: JSONView
    /// Milliseconds since 1970.
    let time: UInt64
    /// Ids of devices that have it.
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

/// A bundle of a room's keys that somebody has offered.
struct HistoryOfferRecord: Record, Equatable {
    static let kind = RecordKind.historyOffer
    private static let version: UInt8 = 1

    let roomId: String
    let user: String
    /// The identity key of the device that has made it.
    let curve25519: Curve25519PublicKey
    let file: EncryptedFile
    /// Milliseconds since 1970.
    let time: UInt64
    /// The application knows of it.
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

/// Who has invited this user to a room that he has joined.
struct InvitationRecord: Record, Equatable {
    static let kind = RecordKind.invitation
    private static let version: UInt8 = 1

    let inviter: String
    /// Milliseconds since 1970 of the joining.
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
