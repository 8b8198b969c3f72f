import Basics

/// A session of a room.
struct SessionAddress: Hashable, Sendable {
    let roomId: String
    let sessionId: String

    /// - Returns: Nil for ids longer than any server or device makes.
    init?(_ roomId: String, _ sessionId: String) {
        guard roomId.utf8.count <= 255, sessionId.utf8.count <= 64, !sessionId.utf8.contains(Self.lineBreak) else {
            return nil
        }
        (self.roomId, self.sessionId) = (roomId, sessionId)
    }

    var key: String { roomId + "\n" + sessionId }

    init?(key: String) {
        guard let end = key.utf8.lastIndex(of: Self.lineBreak) else { return nil }
        self.init(String(key[..<end]), String(key[key.utf8.index(after: end)...]))
    }

    private static let lineBreak = UInt8(ascii: "\n")

    static func == (lhs: SessionAddress, rhs: SessionAddress) -> Bool {
        lhs.roomId.isExactly(rhs.roomId) && lhs.sessionId.isExactly(rhs.sessionId)
    }
}

/// A session that events wait for, and what was done to get it.
struct MissingSessionRecord: Record, Equatable {
    static let kind = RecordKind.missingSession
    private static let version: UInt8 = 2

    /// What our other devices were asked.
    struct Request: Sendable, Equatable {
        let id: String
        /// Ids of the devices that it went to.
        let devices: [String]
    }

    /// Milliseconds since 1970 when an event last waited for it.
    var wanted: UInt64
    /// Milliseconds since 1970 when the backup was asked for it; 0 for never.
    var sought: UInt64 = 0
    var request: Request?
    /// What the event says of its sender's key, if the sender has a device of that key: older clients look for the session by it.
    var senderKey: String?

    init(wanted: UInt64, senderKey: String?) { (self.wanted, self.senderKey) = (wanted, senderKey) }

    /// Whether the backup is to be asked, which has it later perhaps.
    var isToBeSought: Bool { sought == 0 || wanted > sought }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(wanted)
        writer.append(sought)
        writer.append(request) { writer, request in
            writer.append(request.id)
            writer.append(request.devices) { $0.append($1) }
        }
        writer.append(senderKey) { $0.append($1) }
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        let isOld = state.withUnsafeBytes { $0.first } == 1
        var reader = try StateReader(state, version: isOld ? 1 : Self.version)
        (wanted, sought) = (try reader.number(), try reader.number())
        request = try reader.optional { reader throws(EncryptionError) in
            Request(
                id: try reader.text(), devices: try reader.list { reader throws(EncryptionError) in try reader.text() })
        }
        senderKey = isOld ? nil : try reader.optional { reader throws(EncryptionError) in try reader.text() }
        try reader.end()
    }
}

/// What another device has asked this one for, and was not answered yet.
struct QuestionRecord: Record, Equatable {
    static let kind = RecordKind.question
    private static let version: UInt8 = 1

    enum Subject: Sendable, Equatable {
        case session(SessionAddress)
        case secret(SecretName)
    }

    let device: DeviceAddress
    let requestId: String
    let subject: Subject
    /// Milliseconds since 1970.
    let time: UInt64

    init(device: DeviceAddress, requestId: String, subject: Subject, time: UInt64) {
        (self.device, self.requestId, self.subject, self.time) = (device, requestId, subject, time)
    }

    static func key(_ device: DeviceAddress, _ requestId: String) -> String { device.key + "\n" + requestId }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        for text in [device.user, device.device, requestId] { writer.append(text) }
        switch subject {
        case .session(let session):
            writer.append(true)
            writer.append(session.key)
        case .secret(let name):
            writer.append(false)
            writer.append(name.rawValue)
        }
        writer.append(time)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        device = DeviceAddress(try reader.text(), try reader.text())
        requestId = try reader.text()
        let isSession = try reader.flag()
        let text = try reader.text()
        if isSession {
            guard let session = SessionAddress(key: text) else { throw .state }
            subject = .session(session)
        } else {
            guard let name = SecretName(rawValue: text) else { throw .state }
            subject = .secret(name)
        }
        time = try reader.number()
        try reader.end()
    }
}

/// A secret that this device lacks, and which of our other devices were asked for it.
struct SecretRequestRecord: Record, Equatable {
    static let kind = RecordKind.secretRequest
    private static let version: UInt8 = 1

    let id: String
    /// Ids of the devices that it went to; empty before it was sent.
    var devices: [String]

    init(id: String, devices: [String] = []) { (self.id, self.devices) = (id, devices) }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(id)
        writer.append(devices) { $0.append($1) }
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        id = try reader.text()
        devices = try reader.list { reader throws(EncryptionError) in try reader.text() }
        try reader.end()
    }
}

/// How often something was done within an hour.
struct HourlyCountRecord: Record, Equatable {
    static let kind = RecordKind.hourlyCount
    private static let version: UInt8 = 1
    private static let hour: UInt64 = 3_600_000

    /// Milliseconds since 1970.
    private var start: UInt64 = 0
    private var count: UInt64 = 0

    init() {}

    /// Counts one more.
    ///
    /// - Returns: Whether that is within the limit.
    mutating func take(one limit: UInt64, at now: UInt64) -> Bool {
        // A clock that was put back stops nothing for ever.
        if now < start || now - start >= Self.hour { (start, count) = (now, 0) }
        guard count < limit else { return false }
        count += 1
        return true
    }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(start)
        writer.append(count)
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        (start, count) = (try reader.number(), try reader.number())
        try reader.end()
    }
}
