/// A session that decrypts a room's messages, and what is known about its owner.
package struct InboundSessionRecord: Record, Equatable {
    package static let kind = RecordKind.inboundSession
    private static let version: UInt8 = 1

    /// The source of the session.
    package enum Source: UInt8, Sendable {
        /// Received by `m.room_key` from its owner, or created by this device: the owner's keys are facts.
        case direct
        /// Received from another device of ours.
        case forwarded
        /// Imported from a file.
        case imported
        /// Restored from the backup, to which anyone may have written.
        case backup
        /// Received from a user who invited this one: the last of the forwarders vouches for it.
        case history

        /// The rank of the source: of two conflicting sessions, the one with the better source stays. Anyone can write
        /// to the backup, and inviters may lie; our own verified devices and files are better, and the owner is best.
        var rank: Int {
            switch self {
            case .direct: 3
            case .forwarded, .imported: 2
            case .backup, .history: 1
            }
        }
    }

    package var session: InboundGroupSession
    /// The owner of the device. A fact for a ``Source/direct`` session; otherwise a claim, or empty if there is none.
    package var user: String
    package var device: String
    package var curve25519: Curve25519PublicKey
    package var ed25519: Ed25519PublicKey
    package var source: Source
    /// Whether new members of the room may receive it.
    package var isSharedHistory: Bool
    /// The identity keys of the devices that forwarded it.
    package var forwarders: [Curve25519PublicKey]

    package init(
        session: InboundGroupSession, user: String, device: String, curve25519: Curve25519PublicKey,
        ed25519: Ed25519PublicKey, source: Source, isSharedHistory: Bool, forwarders: [Curve25519PublicKey] = []
    ) {
        (self.session, self.user, self.device) = (session, user, device)
        (self.curve25519, self.ed25519, self.source) = (curve25519, ed25519, source)
        (self.isSharedHistory, self.forwarders) = (isSharedHistory, forwarders)
    }

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(session.state)
        writer.append(user)
        writer.append(device)
        writer.append(curve25519)
        writer.append(ed25519)
        writer.append(source.rawValue)
        writer.append(isSharedHistory)
        writer.append(forwarders) { writer, key in writer.append(key) }
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        session = try InboundGroupSession(state: reader.secret())
        (user, device) = (try reader.text(), try reader.text())
        (curve25519, ed25519) = (try reader.key(), try reader.key())
        guard let source = Source(rawValue: try reader.number()) else { throw .state }
        self.source = source
        isSharedHistory = try reader.flag()
        forwarders = try reader.list { reader throws(EncryptionError) in try reader.key() }
        try reader.end()
    }
}

/// The session that this device encrypts with in a room.
struct OutboundSessionRecord: Record, Equatable {
    static let kind = RecordKind.outboundSession
    private static let version: UInt8 = 1

    var session: OutboundGroupSession
    /// The time in milliseconds since 1970.
    let created: UInt64
    var messageCount: UInt64 = 0
    /// Whether new members may read its messages, by the room's history visibility.
    let isSharedHistory: Bool
    /// The room's settings when it was created.
    let settings: EncryptionSettings

    init(session: OutboundGroupSession, created: UInt64, isSharedHistory: Bool, settings: EncryptionSettings) {
        (self.session, self.created) = (session, created)
        (self.isSharedHistory, self.settings) = (isSharedHistory, settings)
    }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(session.state)
        writer.append(created)
        writer.append(messageCount)
        writer.append(isSharedHistory)
        settings.write(to: &writer)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        session = try OutboundGroupSession(state: reader.secret())
        (created, messageCount) = (try reader.number(), try reader.number())
        isSharedHistory = try reader.flag()
        settings = try EncryptionSettings(&reader)
        try reader.end()
    }
}

/// The encryption settings of a room: the content of `m.room.encryption`.
package struct EncryptionSettings: Sendable, Equatable {
    /// The maximum number of messages per session: 1 to 10,000.
    package let rotationMessages: UInt64
    /// The maximum lifetime of a session in milliseconds: at least an hour, so that a hostile room cannot make each
    /// message costly.
    package let rotationPeriod: UInt64

    /// - Parameters:
    ///   - messages: `rotation_period_msgs`; `nil` for 100.
    ///   - period: `rotation_period_ms`; `nil` for a week.
    package init(messages: Int? = nil, period: Int? = nil) {
        rotationMessages = UInt64(min(max(messages ?? 100, 1), 10_000))
        rotationPeriod = UInt64(max(period ?? 604_800_000, 3_600_000))
    }

    func write(to writer: inout StateWriter) {
        writer.append(rotationMessages)
        writer.append(rotationPeriod)
    }

    init(_ reader: inout StateReader) throws(EncryptionError) {
        (rotationMessages, rotationPeriod) = (try reader.number(), try reader.number())
    }
}

/// An encrypted room. It stays encrypted whatever its state says later.
package struct EncryptedRoomRecord: Record, Equatable {
    package static let kind = RecordKind.room
    private static let version: UInt8 = 1

    package var settings: EncryptionSettings
    /// Whether this device supports the room's encryption algorithm.
    package var isKnownAlgorithm: Bool
    /// Whether unverified devices receive no keys here.
    package var onlyVerified: Bool?

    package init(settings: EncryptionSettings, isKnownAlgorithm: Bool) {
        (self.settings, self.isKnownAlgorithm) = (settings, isKnownAlgorithm)
    }

    package var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        settings.write(to: &writer)
        writer.append(isKnownAlgorithm)
        writer.append(onlyVerified) { writer, flag in writer.append(flag) }
        return writer.state
    }

    package init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        settings = try EncryptionSettings(&reader)
        isKnownAlgorithm = try reader.flag()
        onlyVerified = try reader.optional { reader throws(EncryptionError) in try reader.flag() }
        try reader.end()
    }
}

/// The sharing of an outbound session with a device.
struct ShareRecord: Record, Equatable {
    static let kind = RecordKind.share
    private static let version: UInt8 = 1

    enum Outcome: UInt8, Sendable {
        /// The server has accepted the message with it.
        case given
        /// The message with it is being sent.
        case sending
        /// The device was notified that it receives none.
        case withheld
        /// No channel to the device could be created. It is retried after an hour.
        case unreachable
        /// The server has refused the message with it. It may have arrived all the same.
        case refused
    }

    let outcome: Outcome
    /// The index of the first message that the device can decrypt.
    let index: UInt32
    let curve25519: Curve25519PublicKey
    /// The device's index at the time. After a new channel, the device receives the session again.
    let wedgingIndex: UInt64
    /// The time in milliseconds since 1970.
    let time: UInt64

    init(
        _ outcome: Outcome, index: UInt32, curve25519: Curve25519PublicKey, wedgingIndex: UInt64, time: UInt64
    ) {
        (self.outcome, self.index, self.curve25519) = (outcome, index, curve25519)
        (self.wedgingIndex, self.time) = (wedgingIndex, time)
    }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(outcome.rawValue)
        writer.append(index)
        writer.append(curve25519)
        writer.append(wedgingIndex)
        writer.append(time)
        return writer.state
    }

    /// Returns the record with a new outcome.
    func with(_ outcome: Outcome, at time: UInt64) -> ShareRecord {
        ShareRecord(outcome, index: index, curve25519: curve25519, wedgingIndex: wedgingIndex, time: time)
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        guard let outcome = Outcome(rawValue: try reader.number()) else { throw .state }
        self.outcome = outcome
        (index, curve25519) = (try reader.number(), try reader.key())
        (wedgingIndex, time) = (try reader.number(), try reader.number())
        try reader.end()
    }
}

/// The event of a message index. Another event with the same index is a replay.
struct MessageIndexRecord: Record, Equatable {
    static let kind = RecordKind.messageIndex
    private static let version: UInt8 = 1

    let eventId: String
    /// The time claimed by the sender's server, in milliseconds since 1970.
    let time: UInt64

    init(eventId: String, time: UInt64) { (self.eventId, self.time) = (eventId, time) }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(eventId)
        writer.append(time)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        (eventId, time) = (try reader.text(), try reader.number())
        try reader.end()
    }
}
