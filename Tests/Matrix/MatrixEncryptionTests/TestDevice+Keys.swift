import EncryptionTestSupport
import JSONBytes
import Testing

@testable import MatrixEncryption

/// Helpers for tests of forwarded keys.
extension TestDevice {
    /// Another device of the same user, not yet verified.
    func second(_ name: String = "A2") throws -> TestDevice {
        let device = try TestDevice(address.user, name, on: server)
        try device.encryptRoom("!r:s")
        try sync()
        return device
    }

    /// Verifies two devices of the same user as if the user had compared emoji; this one has the private keys.
    func verify(_ other: TestDevice) throws {
        try turn { try $0.signDevice(other.address.device, &$1) }
        try pump()
        try other.sync()
        try other.turn { machine, turn in
            let own = try #require(try turn.records.value(IdentityRecord.self, key: machine.me.user))
            try machine.trustOwnIdentity(own, &turn)
        }
        try other.pump()
        try sync()
    }

    /// Sends a message over a secure channel that the machine would not send.
    func sendSecretly(_ type: String, _ content: JSONView, to other: TestDevice) throws {
        let keys = other.machine.deviceKeys
        try know(other.address.user)
        try turn { machine, turn in
            if try machine.channels(with: keys.curve25519, &turn).isEmpty { machine.wanted.insert(other.address) }
        }
        try pump()
        try turn { machine, turn in
            let message = try #require(try machine.encrypt(type, content, for: keys, &turn))
            try machine.post("m.room.encrypted", [(other.address, message)], shares: [], &turn)
        }
        try pump()
    }

    /// Delivers an unencrypted message that the server attributes to a user.
    func inject(_ type: String, from user: String, _ content: JSONView) {
        let message = object { writer in
            writer.add("type", type)
            writer.add("sender", user)
            writer.add("content", content)
        }
        server.inject(message, to: address)
    }

    func session(_ id: String, in roomId: String = "!r:s") throws -> InboundSessionRecord? {
        try turn { try $1.records.value(scope: roomId, key: id) }
    }

    /// Adds sessions without a known owner to the store.
    func makeSessions(_ count: Int, in roomId: String = "!r:s") throws -> [ExportedSession] {
        let sessions = try (0..<count).map { _ in
            let session = OutboundGroupSession(random: .system)
            return try ExportedSession(
                roomID: roomId, senderKey: Curve25519KeyPair(random: .system).publicKey, senderClaimedKey: nil,
                forwardingChain: [],
                sessionKey: InboundGroupSession(sessionKey: session.sessionKey).exported(), isSharedHistory: true)
        }
        #expect(try turn { try $0.importSessions(sessions, &$1) } == count)
        return sessions
    }

    /// Messages of a type that are pending at the server for this device; encrypted ones are not decrypted.
    func waitingMessages(_ type: String) -> [JSONView] {
        server.messages(to: address).filter { $0["type"]?.string == type }
    }

    var dropped: [EncryptionError] {
        notices.compactMap { if case .dropped(_, _, let error) = $0 { error } else { nil } }
    }

    func makeBackup(isReplacement: Bool = false) throws {
        try checkBackup()
        try turn { try $0.makeBackup(isReplacement: isReplacement, &$1) }
        try pump()
    }

    func checkBackup() throws {
        try turn { machine, _ in machine.checkBackup() }
        try pump()
    }

    var ownIdentity: OwnIdentityState { get throws { try turn { try $0.ownIdentity(&$1) } } }

    func isVerified(_ user: String) throws -> Bool { try turn { try $0.isVerified(user, &$1) } }

    func identity(of user: String) throws -> IdentityRecord {
        try #require(try turn { try $1.records.value(IdentityRecord.self, key: user) })
    }

    func trust(_ device: TestDevice) throws -> DeviceTrust {
        let (user, id) = (device.address.user, device.address.device)
        return try turn { machine, turn in
            let record = try #require(try turn.records.value(DeviceRecord.self, scope: user, key: id))
            return try machine.trust(of: record, &turn)
        }
    }

    /// This device's private half of a secret, valid or not.
    func secret(_ name: SecretName) throws -> SecretBytes? {
        try turn { try $0.secret(name, &$1) }
    }

    var backupState: BackupState { get throws { try turn { try $0.backupState(&$1) } } }
}

extension EncryptedEvent {
    var sessionId: String { content["session_id"]?.string ?? "" }
}

/// The content of a room key request.
func keyRequest(
    _ sessionId: String, from device: String, id: String = "request", roomId: String = "!r:s",
    action: String = "request"
) -> JSONView {
    object { writer in
        writer.add("action", action)
        writer.add("request_id", id)
        writer.add("requesting_device_id", device)
        writer.add(
            "body",
            object { body in
                body.add("algorithm", Algorithm.megolm)
                body.add("room_id", roomId)
                body.add("session_id", sessionId)
            })
    }
}
