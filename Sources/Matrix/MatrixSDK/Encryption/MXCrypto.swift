import Basics
public import Foundation
import JSONBytes
import MatrixEncryption
public import MatrixProtocol

/// Encryption of a session: its device's keys, other users' devices, and trust.
///
/// Messages are encrypted and decrypted automatically; this is for what users want to see and decide.
///
///     let device = session.crypto?.deviceEd25519Key      // what another user compares
///     try session.crypto?.setDeviceVerification(.blocked, forDevice: "OLDPHONE", ofUser: "@bob:example.org")
public final class MXCrypto: Sendable {
    let core: SessionCore
    /// The user's own identity, which vouches for devices and other users.
    public let crossSigning: MXCrossSigning
    /// The backup of room keys on the homeserver.
    public let backup: MXKeyBackup
    /// The user's secrets on the homeserver, from which a new device recovers.
    public let recoveryService: MXRecoveryService

    init(_ core: SessionCore) {
        self.core = core
        crossSigning = MXCrossSigning(core)
        backup = MXKeyBackup(core)
        recoveryService = MXRecoveryService(core)
    }

    // MARK: This device

    /// The public key by which other devices reach this one. `nil` until the store is open.
    public var deviceCurve25519Key: String? { keys?.curve25519.base64 }

    /// The public key that vouches for this device: its fingerprint, for people to compare.
    public var deviceEd25519Key: String? { keys?.ed25519.base64 }

    /// The time at which this device's keys were generated, in milliseconds since 1970. `nil` until the store is open.
    public var deviceCreationTs: UInt64? {
        (try? core.encryption { machine, turn, _, _ in try machine.creationTime(&turn) }) ?? nil
    }

    /// The encryption library and its version, for bug reports.
    public var version: String { "MatrixEncryption (\(LibCrypto.version))" }

    private var keys: DeviceKeys? { core.account.opened { $0.crypto?.deviceKeys } ?? nil }

    // MARK: Rooms

    /// Returns whether a room is encrypted. It then stays encrypted.
    public func isRoomEncrypted(_ roomId: String) -> Bool { (try? core.account.isEncrypted(roomId)) ?? false }

    /// Sends keys to everyone who may read the room before there is a message, for instance when the user begins to
    /// type. Waits ten seconds at most for the keys of others, then 20 seconds at most for the homeserver to take ours.
    public func ensureEncryption(inRoom roomId: String) async throws {
        try await core.shareKeys(ofRoom: roomId)
    }

    /// Discards a room's key, so that the next message uses a new one.
    public func discardOutboundGroupSessionForRoom(withRoomId roomId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.discardSession(of: roomId, &turn) }
    }

    /// Whether to withhold keys from unverified devices in all rooms. Default: false: devices signed by their owners
    /// get keys, and so do all devices of owners who sign none.
    public var globalBlacklistUnverifiedDevices: Bool {
        core.account.opened { $0.crypto?.policy == .verified } ?? false
    }

    /// Sets ``globalBlacklistUnverifiedDevices``. The setting is stored.
    public func setGlobalBlacklistUnverifiedDevices(_ blacklist: Bool) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in machine.setPolicy(blacklist ? .verified : .crossSigned, &turn) }
    }

    /// Returns whether to withhold a room's keys from unverified devices, whatever applies to other rooms.
    public func isBlacklistUnverifiedDevices(inRoom roomId: String) -> Bool {
        let choice = try? core.encryption { machine, turn, _, _ in try machine.onlyVerified(in: roomId, &turn) }
        return choice.flatMap(\.self) ?? false
    }

    /// Sets ``isBlacklistUnverifiedDevices(inRoom:)``. The setting is stored.
    public func setBlacklistUnverifiedDevicesInRoom(_ roomId: String, blacklist: Bool) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.setOnlyVerified(blacklist ? true : nil, in: roomId, &turn)
        }
    }

    // MARK: Messages

    /// Encrypts content to be sent to a room by other means than ``MXRoom``. First sends the keys to everyone who may
    /// read the room, which takes half a minute at most: see ``ensureEncryption(inRoom:)``.
    ///
    /// - Returns: The content of an event of type `m.room.encrypted`.
    /// - Throws: `MatrixError` with code `invalidArgument` if the room is not encrypted, or `identityChanged`.
    public func encryptEventContent(
        _ content: [String: Any], withType type: MXEventType, in room: MXRoom
    ) async throws -> JSONView {
        try await encryptEventContent(eventContent(content), withType: type, in: room)
    }

    /// Like ``encryptEventContent(_:withType:in:)``, but for sendable content.
    package func encryptEventContent(
        _ content: JSONView, withType type: MXEventType, in room: MXRoom
    ) async throws -> JSONView {
        guard try core.account.isEncrypted(room.roomId) else {
            throw MatrixError(.invalidArgument, "the room is not encrypted", roomId: room.roomId)
        }
        return try await core.encrypted(type.identifier, content, room.roomId)
    }

    package func eventContent(_ content: [String: Any]) throws(MatrixError) -> JSONView {
        guard let json = JSONView(try EncodedJSON(content).bytes.get()) else {
            throw MatrixError(.invalidArgument, "the content is not JSON")
        }
        return json
    }

    /// Returns the homeserver's events with their decrypted content where possible, in the same order.
    /// ``MXEvent/decryptionError`` shows why an event could not be decrypted.
    ///
    /// - Parameters:
    ///   - events: Events with the ids of their rooms.
    ///   - timelineId: Not needed: repeated messages are detected in every timeline.
    public func decryptEvents(
        _ events: [MXEvent], inTimeline timelineId: String? = nil
    ) throws(MatrixError) -> [MXEvent] {
        try core.decrypted(events)
    }

    /// Retries to get the key of an unreadable event, from the backup and the user's verified devices.
    ///
    /// - Throws: `MatrixError` with code `invalidArgument` if it is not an encrypted event of a room.
    public func reRequestRoomKey(for event: MXEvent) throws(MatrixError) {
        guard let (roomId, sessionId) = Self.session(of: event) else {
            throw MatrixError(.invalidArgument, "there is no key to ask for: the event is not encrypted")
        }
        try core.cryptoCommand { machine, turn in
            try machine.requestAgain(roomId: roomId, sessionId: sessionId, &turn)
        }
    }

    /// Returns the device that encrypted an event, or `nil` if the event was not encrypted, or the device is unknown.
    public func eventDeviceInfo(_ event: MXEvent) -> MXDeviceInfo? {
        guard let (roomId, sessionId) = Self.session(of: event) else { return nil }
        let device = try? core.encryption { machine, turn, _, _ -> MXDeviceInfo? in
            guard let record = try machine.sender(roomId: roomId, sessionId: sessionId, &turn) else { return nil }
            return MXDeviceInfo(record, try machine.trust(of: record, &turn))
        }
        return device.flatMap(\.self)
    }

    /// Returns the shield to show next to an event of an encrypted room. An unreadable event has none.
    public func shield(of event: MXEvent) -> MXMessageShield {
        guard let roomId = event.roomId, !event.isEncrypted else { return .none }
        let shield = try? core.encryption { machine, turn, _, _ in
            guard let (_, sessionId) = Self.session(of: event) else {
                return try machine.shield(clear: event.wireType, isState: event.isState, roomId: roomId, &turn)
            }
            return try machine.shield(roomId: roomId, sessionId: sessionId, &turn)
        }
        return MXMessageShield(shield ?? .unknownDevice)
    }

    private static func session(of event: MXEvent) -> (roomId: String, sessionId: String)? {
        guard event.wireType == MXEvent.encryptedType, let roomId = event.roomId,
            let sessionId = event.wireContent["session_id"]?.string
        else { return nil }
        return (roomId, sessionId)
    }

    // MARK: Devices and users

    /// Returns the known devices of a user.
    public func devices(forUser userId: String) throws(MatrixError) -> [MXDeviceInfo] {
        try core.encryption { machine, turn, _, _ in
            var devices: [MXDeviceInfo] = []
            for record in try machine.devices(of: userId, &turn) {
                devices.append(MXDeviceInfo(record, try machine.trust(of: record, &turn)))
            }
            return devices
        }
    }

    /// Returns a known device of a user.
    public func device(withDeviceId deviceId: String, ofUser userId: String) throws(MatrixError) -> MXDeviceInfo? {
        try devices(forUser: userId).first { $0.deviceId == deviceId }
    }

    /// Requests the devices of users from the homeserver.
    ///
    /// - Parameter forceDownload: Whether to request known ones again.
    /// - Throws: `MatrixError` with code `timedOut` if the homeserver does not answer within ten seconds.
    public func downloadKeys(_ userIds: [String], forceDownload: Bool = false) async throws {
        try await core.downloadKeys(of: userIds, isForced: forceDownload)
    }

    /// Sets the user's decision about a device. A blocked device gets no more keys; a verified one was compared by
    /// hand.
    ///
    /// - Throws: `MatrixError` if the device is unknown.
    public func setDeviceVerification(
        _ verification: MXDeviceVerification, forDevice deviceId: String, ofUser userId: String
    ) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.setTrust(verification.trust, of: DeviceAddress(userId, deviceId), &turn)
        }
    }

    /// Vouches for a user whose identity was compared, or withdraws that.
    ///
    /// - Throws: `MatrixError` if this device lacks the keys to sign with: see ``MXCrossSigning``.
    public func setUserVerification(_ isVerified: Bool, forUser userId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            if isVerified {
                try machine.signUser(userId, &turn)
            } else {
                try machine.withdrawVerification(of: userId, &turn)
            }
        }
    }

    /// Accepts a user's new identity. Until then, nothing is sent to a user who was verified.
    public func acceptIdentity(ofUser userId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.acceptIdentity(of: userId, &turn) }
    }

    /// Returns the knowledge of a user's identity.
    public func trustLevel(forUser userId: String) throws(MatrixError) -> MXUserTrustLevel {
        try core.encryption { machine, turn, _, _ in
            let identity: IdentityRecord? = try turn.records.value(key: userId)
            return MXUserTrustLevel(
                hasIdentity: identity != nil, isVerified: try machine.isVerified(userId, &turn),
                hasChanged: identity?.hasChanged ?? false, wasVerified: identity?.wasVerified ?? false)
        }
    }

    /// Returns how far a device is trusted, or `nil` if it is unknown.
    public func deviceTrustLevel(
        forDevice deviceId: String, ofUser userId: String
    ) throws(MatrixError) -> MXDeviceTrustLevel? {
        try device(withDeviceId: deviceId, ofUser: userId).map(MXDeviceTrustLevel.init)
    }

    /// Returns how many of these users and of their devices are verified, for a room's shield.
    ///
    /// - Parameter forceDownload: Whether to request their devices from the homeserver first.
    public func trustLevelSummary(
        forUserIds userIds: [String], forceDownload: Bool = false
    ) async throws -> MXUsersTrustLevelSummary {
        if forceDownload { try await downloadKeys(userIds, forceDownload: true) }
        var summary = MXUsersTrustLevelSummary()
        for user in Set(userIds) {
            let devices = try devices(forUser: user)
            summary.users += 1
            summary.trustedUsers += try trustLevel(forUser: user).isVerified ? 1 : 0
            summary.devices += devices.count
            summary.trustedDevices += devices.count { $0.verification == .verified }
        }
        return summary
    }

    // MARK: Key files

    /// Returns all message keys of this device in the file format that other clients read. Keep the file private:
    /// anyone with the file and its password can read everything.
    ///
    /// Deriving the key from the password takes a second.
    @concurrent
    public func exportRoomKeys(withPassword password: String) async throws -> Data {
        let sessions = try core.encryption { machine, turn, _, _ in try machine.exportSessions(&turn) }
        return Data(KeyExport.file(of: KeyExport.json(of: sessions), passphrase: password, random: .system).utf8)
    }

    /// Imports the keys from such a file. Messages that waited for them are decrypted.
    ///
    /// - Returns: The number of keys in the file, and how many of them are new or better than the existing ones.
    /// - Throws: `MatrixError` with code `invalidArgument` if it is not such a file, or the password is wrong.
    @concurrent
    public func importRoomKeys(
        _ keys: Data, withPassword password: String
    ) async throws -> (total: Int, imported: Int) {
        let (total, sessions): (Int, [ExportedSession])
        do throws(EncryptionError) {
            let json = try KeyExport.json(of: Array(keys), passphrase: password)
            (total, sessions) = try KeyExport.sessions(in: json)
        } catch {
            let reason =
                switch error {
                case .mac: "the password is wrong, or the file is damaged"
                case .armour, .base64, .version: "this is not a file of Matrix room keys"
                default: "it cannot be read (\(error.rawValue))"
                }
            throw MatrixError(.invalidArgument, "the keys were not imported: \(reason)")
        }
        var imported = 0
        // Syncs continue between the parts.
        for start in stride(from: 0, to: sessions.count, by: CryptoMachine.entriesOfATurn) {
            let part = Array(sessions[start...].prefix(CryptoMachine.entriesOfATurn))
            imported += try core.cryptoCommand { machine, turn in try machine.importSessions(part, &turn) }
        }
        return (total, imported)
    }
}

extension MXCrypto {
    package var rest: MXRestClient { core.rest }
}

extension MXSession {
    /// The session's encryption; `nil` unless ``MXSessionOptions/enableCrypto`` is set.
    public var crypto: MXCrypto? { core.cryptoDriver == nil ? nil : MXCrypto(core) }
}
