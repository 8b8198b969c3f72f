import Basics

/// The address of a room session.
struct SessionAddress: Hashable, Sendable {
    let roomId: String
    let sessionId: String

    /// - Returns: `nil` if an id is longer than any that servers or devices create.
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

/// A session that events are waiting for, and the attempts to get it.
struct MissingSessionRecord: Record, Equatable {
    static let kind = RecordKind.missingSession
    private static let version: UInt8 = 2

    /// The request sent to our other devices.
    struct Request: Sendable, Equatable {
        let id: String
        /// The ids of the devices that received it.
        let devices: [String]
    }

    /// The time at which an event last needed it, in milliseconds since 1970.
    var wanted: UInt64
    /// The time at which it was looked for in the backup, in milliseconds since 1970; 0 for never.
    var sought: UInt64 = 0
    var request: Request?
    /// The sender's key in the event, if the sender has a device with it. Older clients use it to look for the session.
    var senderKey: String?

    init(wanted: UInt64, senderKey: String?) { (self.wanted, self.senderKey) = (wanted, senderKey) }

    /// Whether to look in the backup, which may have it by now.
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

/// An unanswered request from another device.
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
    /// The time in milliseconds since 1970.
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

/// A secret that this device lacks, and those of our other devices that were asked for it.
struct SecretRequestRecord: Record, Equatable {
    static let kind = RecordKind.secretRequest
    private static let version: UInt8 = 1

    let id: String
    /// The ids of the devices that received the request; empty before it is sent.
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

/// The number of times something was done within an hour.
struct HourlyCountRecord: Record, Equatable {
    static let kind = RecordKind.hourlyCount
    private static let version: UInt8 = 1
    private static let hour: UInt64 = 3_600_000

    /// The time in milliseconds since 1970.
    private var start: UInt64 = 0
    private var count: UInt64 = 0

    init() {}

    /// Counts one more.
    ///
    /// - Returns: Whether the number is within the limit.
    mutating func take(one limit: UInt64, at now: UInt64) -> Bool {
        // A clock that was set back must not block this for ever.
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
