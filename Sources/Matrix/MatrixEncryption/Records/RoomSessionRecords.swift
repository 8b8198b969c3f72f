/// A session that opens messages of a room, and what is known of whose it is.
package struct InboundSessionRecord: Record, Equatable {
    package static let kind = RecordKind.inboundSession
    private static let version: UInt8 = 1

    /// How it came here.
    package enum Source: UInt8, Sendable {
        /// By `m.room_key` from its owner, or made by this device: the owner's keys are facts.
        case direct
        /// From another device of ours.
        case forwarded
        /// From a file.
        case imported
        /// From the backup, which anybody may have written to.
        case backup
        /// From somebody who has invited this user: the last of the forwarders vouches for it.
        case history

        /// Of two sessions that cannot be the same the one from a better source stays. Anybody may write to the backup, and
        /// whoever invites may lie; our own verified devices and files are better, and the owner is best.
        var rank: Int {
            switch self {
            case .direct: 3
            case .forwarded, .imported: 2
            case .backup, .history: 1
            }
        }
    }

    package var session: InboundGroupSession
    /// Whose device it is. Of a ``Source/direct`` session a fact; otherwise what somebody claims, and empty texts if nobody
    /// does.
    package var user: String
    package var device: String
    package var curve25519: Curve25519PublicKey
    package var ed25519: Ed25519PublicKey
    package var source: Source
    /// New members of the room may be given it.
    package var isSharedHistory: Bool
    /// Identity keys of those who have passed it on.
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
    /// Milliseconds since 1970.
    let created: UInt64
    var messageCount: UInt64 = 0
    /// Whether new members may read what it encrypts, by the room's history visibility.
    let isSharedHistory: Bool
    /// The room's settings when it was made.
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

/// How a room is encrypted: the content of `m.room.encryption`.
package struct EncryptionSettings: Sendable, Equatable {
    /// Messages, at most, that one session encrypts: 1 to 10,000.
    package let rotationMessages: UInt64
    /// Milliseconds, at most, that one session serves: at least an hour, so that a hostile room cannot make each message
    /// costly.
    package let rotationPeriod: UInt64

    /// - Parameters:
    ///   - messages: `rotation_period_msgs`; nil for 100.
    ///   - period: `rotation_period_ms`; nil for a week.
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

/// A room that is encrypted, which it stays whatever its state says later.
package struct EncryptedRoomRecord: Record, Equatable {
    package static let kind = RecordKind.room
    private static let version: UInt8 = 1

    package var settings: EncryptionSettings
    /// Whether this device knows how to encrypt there.
    package var isKnownAlgorithm: Bool
    /// Devices that nobody has verified get no keys here.
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

/// That a device was given an outbound session.
struct ShareRecord: Record, Equatable {
    static let kind = RecordKind.share
    private static let version: UInt8 = 1

    enum Outcome: UInt8, Sendable {
        /// The server has the message with it.
        case given
        /// The message with it is on its way.
        case sending
        /// It was told that it gets none.
        case withheld
        /// No session to it could be made; it is tried again after an hour.
        case unreachable
        /// The server has not taken the message with it. It may have come all the same.
        case refused
    }

    let outcome: Outcome
    /// From which message on the device can read.
    let index: UInt32
    let curve25519: Curve25519PublicKey
    /// The device's, when it was given: after a new channel was made, it gets the session again.
    let wedgingIndex: UInt64
    /// Milliseconds since 1970.
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

    /// What has become of it since.
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

/// Which event a message was: another one with the same index is a replay.
struct MessageIndexRecord: Record, Equatable {
    static let kind = RecordKind.messageIndex
    private static let version: UInt8 = 1

    let eventId: String
    /// Milliseconds since 1970, as the sender's server claims.
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
