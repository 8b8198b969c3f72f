import Basics
public import Foundation
import JSONBytes
import MatrixEncryption
public import MatrixProtocol

/// Encryption of a session: its device's keys, other users' devices, and who is trusted.
///
/// Messages are encrypted and read without a word of the application's; this is for what users want to see and decide.
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

    /// The public key by which other devices reach this one. Nil as long as the store is not open.
    public var deviceCurve25519Key: String? { keys?.curve25519.base64 }

    /// The public key that vouches for this device: its fingerprint, for people to compare.
    public var deviceEd25519Key: String? { keys?.ed25519.base64 }

    /// When this device's keys were made, in milliseconds since 1970. Nil as long as the store is not open.
    public var deviceCreationTs: UInt64? {
        (try? core.encryption { machine, turn, _, _ in try machine.creationTime(&turn) }) ?? nil
    }

    /// What encrypts, for reports of bugs.
    public var version: String { "MatrixEncryption (\(LibCrypto.version))" }

    private var keys: DeviceKeys? { core.account.opened { $0.crypto?.deviceKeys } ?? nil }

    // MARK: Rooms

    /// Whether a room is encrypted, which it then stays.
    public func isRoomEncrypted(_ roomId: String) -> Bool { (try? core.account.isEncrypted(roomId)) ?? false }

    /// Gives keys to all who may read the room before there is a message, for instance when somebody begins to type. Ten
    /// seconds at most.
    public func ensureEncryption(inRoom roomId: String) async throws {
        try await core.shareKeys(ofRoom: roomId)
    }

    /// The next message in a room goes with a new key.
    public func discardOutboundGroupSessionForRoom(withRoomId roomId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.discardSession(of: roomId, &turn) }
    }

    /// Whether devices that are not verified get no keys in any room. Default: false: devices get keys that their owners have
    /// signed, and all devices of owners who sign none.
    public var globalBlacklistUnverifiedDevices: Bool {
        core.account.opened { $0.crypto?.policy == .verified } ?? false
    }

    /// See ``globalBlacklistUnverifiedDevices``. It is kept.
    public func setGlobalBlacklistUnverifiedDevices(_ blacklist: Bool) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in machine.setPolicy(blacklist ? .verified : .crossSigned, &turn) }
    }

    /// Whether devices that are not verified get no keys of a room, whatever holds for others.
    public func isBlacklistUnverifiedDevices(inRoom roomId: String) -> Bool {
        let choice = try? core.encryption { machine, turn, _, _ in try machine.onlyVerified(in: roomId, &turn) }
        return choice.flatMap(\.self) ?? false
    }

    /// See ``isBlacklistUnverifiedDevices(inRoom:)``. It is kept.
    public func setBlacklistUnverifiedDevicesInRoom(_ roomId: String, blacklist: Bool) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.setOnlyVerified(blacklist ? true : nil, in: roomId, &turn)
        }
    }

    // MARK: Messages

    /// Encrypts what is to be sent into a room by another way than those of ``MXRoom``. All who may read there are given the
    /// keys first: ten seconds at most.
    ///
    /// - Returns: The content of an event of type `m.room.encrypted`.
    /// - Throws: `MatrixError` of code `invalidArgument` if the room is not encrypted, `identityChanged`.
    public func encryptEventContent(
        _ content: [String: Any], withType type: MXEventType, in room: MXRoom
    ) async throws -> JSONView {
        try await encryptEventContent(eventContent(content), withType: type, in: room)
    }

    /// The same of content that may be handed from one thread to another.
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

    /// Events as the homeserver has them, with what is inside of those that can be read, in the same order. Of others
    /// ``MXEvent/decryptionError`` says why not.
    ///
    /// - Parameters:
    ///   - events: With the ids of their rooms.
    ///   - timelineId: Not needed: a message that is repeated is found in whatever timeline it is.
    public func decryptEvents(
        _ events: [MXEvent], inTimeline timelineId: String? = nil
    ) throws(MatrixError) -> [MXEvent] {
        try core.decrypted(events)
    }

    /// Looks once more for the key of an event that cannot be read: in the backup, and with the user's verified devices.
    ///
    /// - Throws: `MatrixError` of code `invalidArgument` if it is not an encrypted event of a room.
    public func reRequestRoomKey(for event: MXEvent) throws(MatrixError) {
        guard let (roomId, sessionId) = Self.session(of: event) else {
            throw MatrixError(.invalidArgument, "there is no key to ask for: the event is not encrypted")
        }
        try core.cryptoCommand { machine, turn in
            try machine.requestAgain(roomId: roomId, sessionId: sessionId, &turn)
        }
    }

    /// Whose device has encrypted an event; nil if it was not encrypted, or nobody knows.
    public func eventDeviceInfo(_ event: MXEvent) -> MXDeviceInfo? {
        guard let (roomId, sessionId) = Self.session(of: event) else { return nil }
        let device = try? core.encryption { machine, turn, _, _ -> MXDeviceInfo? in
            guard let record = try machine.sender(roomId: roomId, sessionId: sessionId, &turn) else { return nil }
            return MXDeviceInfo(record, try machine.trust(of: record, &turn))
        }
        return device.flatMap(\.self)
    }

    /// What to show beside an event of an encrypted room. Of one that cannot be read there is nothing to say.
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

    /// The devices of a user, as far as they are known here.
    public func devices(forUser userId: String) throws(MatrixError) -> [MXDeviceInfo] {
        try core.encryption { machine, turn, _, _ in
            var devices: [MXDeviceInfo] = []
            for record in try machine.devices(of: userId, &turn) {
                devices.append(MXDeviceInfo(record, try machine.trust(of: record, &turn)))
            }
            return devices
        }
    }

    /// One of them.
    public func device(withDeviceId deviceId: String, ofUser userId: String) throws(MatrixError) -> MXDeviceInfo? {
        try devices(forUser: userId).first { $0.deviceId == deviceId }
    }

    /// Asks the homeserver for the devices of users.
    ///
    /// - Parameter forceDownload: Also for what is known already.
    /// - Throws: `MatrixError` of code `timedOut` if it does not answer within ten seconds.
    public func downloadKeys(_ userIds: [String], forceDownload: Bool = false) async throws {
        try await core.downloadKeys(of: userIds, isForced: forceDownload)
    }

    /// What this user thinks of a device. A blocked one gets no keys any more; a verified one was compared by hand.
    ///
    /// - Throws: `MatrixError` for a device that is not known.
    public func setDeviceVerification(
        _ verification: MXDeviceVerification, forDevice deviceId: String, ofUser userId: String
    ) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            try machine.setTrust(verification.trust, of: DeviceAddress(userId, deviceId), &turn)
        }
    }

    /// Vouches for a user whose identity was compared, or takes that back.
    ///
    /// - Throws: `MatrixError` if this device has not the keys to sign with: see ``MXCrossSigning``.
    public func setUserVerification(_ isVerified: Bool, forUser userId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in
            if isVerified {
                try machine.signUser(userId, &turn)
            } else {
                try machine.withdrawVerification(of: userId, &turn)
            }
        }
    }

    /// Takes a user's new identity for his. Without that nothing is sent to one who was verified.
    public func acceptIdentity(ofUser userId: String) throws(MatrixError) {
        try core.cryptoCommand { machine, turn in try machine.acceptIdentity(of: userId, &turn) }
    }

    /// What is known of a user's identity.
    public func trustLevel(forUser userId: String) throws(MatrixError) -> MXUserTrustLevel {
        try core.encryption { machine, turn, _, _ in
            let identity: IdentityRecord? = try turn.records.value(key: userId)
            return MXUserTrustLevel(
                hasIdentity: identity != nil, isVerified: try machine.isVerified(userId, &turn),
                hasChanged: identity?.hasChanged ?? false, wasVerified: identity?.wasVerified ?? false)
        }
    }

    /// How much a device is trusted; nil if it is not known.
    public func deviceTrustLevel(
        forDevice deviceId: String, ofUser userId: String
    ) throws(MatrixError) -> MXDeviceTrustLevel? {
        try device(withDeviceId: deviceId, ofUser: userId).map(MXDeviceTrustLevel.init)
    }

    /// How many of these users and of their devices are verified: what a room's shield shows.
    ///
    /// - Parameter forceDownload: Asks the homeserver for their devices first.
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

    // MARK: Files of keys

    /// All keys of messages that are here, in the file form that other clients read. The file is for its owner's eyes only:
    /// who has it and the password reads everything.
    ///
    /// Making the key from the password takes a second.
    @concurrent
    public func exportRoomKeys(withPassword password: String) async throws -> Data {
        let sessions = try core.encryption { machine, turn, _, _ in try machine.exportSessions(&turn) }
        return Data(KeyExport.file(of: KeyExport.json(of: sessions), passphrase: password, random: .system).utf8)
    }

    /// Takes the keys of such a file. Messages that have waited for them are read.
    ///
    /// - Returns: How many keys the file holds, and how many of them are new or better than what was here.
    /// - Throws: `MatrixError` of code `invalidArgument` if it is no such file, or the password is another.
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
        // Syncs go on between the parts.
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
    /// Encryption; nil unless ``MXSessionOptions/enableCrypto`` is set.
    public var crypto: MXCrypto? { core.cryptoDriver == nil ? nil : MXCrypto(core) }
}
