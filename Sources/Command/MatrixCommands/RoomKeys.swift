import CommandKit
import Foundation
import MatrixProtocol
import MatrixSDK

/// Encrypts and decrypts for a login: a session of this process, or the process that has the keys.
protocol RoomKeys: Sendable {
    /// Sends a message to a room, encrypted if the room is.
    ///
    /// - Returns: The event id.
    func send(_ content: [String: Any], to roomID: String, transactionID: String?) async throws -> String

    /// Encrypts, uploads and sends a file.
    func upload(
        _ file: URL, mimeType: String, caption: String?, to roomID: String,
        onProgress: @escaping @Sendable (MXTransferProgress) -> Void
    ) async throws -> String

    /// Returns the events of a room, decrypted as far as keys are available.
    func read(_ events: [MXEvent], in roomID: String) async throws -> [ReadEvent]

    /// Invites a user, and shares the keys of earlier messages if new members may read those.
    ///
    /// - Returns: The reason why the keys could not be shared; `nil` if they were, or if there are none.
    func invite(_ userID: String, to roomID: String) async throws -> String?

    /// Returns the trust in the user's own devices, by id. Devices without keys are missing.
    func ownDevices() async throws -> [String: DeviceStanding]
}

/// The trust in one of the user's own devices.
enum DeviceStanding: String, Sendable, CaseIterable {
    case verified
    case unverified = "not verified"
    /// The device gets no keys.
    case blocked
    /// The homeserver reports different keys than at first: an alarm.
    case changed = "keys changed"

    /// - Parameter identity: The user's identity, for this very device, which is verified if the identity is trusted;
    ///   `nil` for others.
    init(_ device: MXDeviceInfo, identity: MXCrossSigning.State?) {
        if device.hasRefusedKeys {
            self = .changed
        } else if let identity, !identity.isVerified {
            self = .unverified
        } else {
            switch device.verification {
            case .verified: self = .verified
            case .unverified: self = .unverified
            case .blocked: self = .blocked
            }
        }
    }
}

/// The keys of an up-to-date session.
struct SessionKeys: RoomKeys {
    let session: MXSession
    let account: MatrixAccount

    func send(_ content: [String: Any], to roomID: String, transactionID: String?) async throws -> String {
        try await account.encryptedRoom(roomID, in: session).sendMessageOnce(content, transactionId: transactionID)
    }

    func upload(
        _ file: URL, mimeType: String, caption: String?, to roomID: String,
        onProgress: @escaping @Sendable (MXTransferProgress) -> Void
    ) async throws -> String {
        try await account.encryptedRoom(roomID, in: session).sendMediaOnce(
            file, mimeType: mimeType, caption: caption, onProgress: onProgress)
    }

    func read(_ events: [MXEvent], in roomID: String) async throws -> [ReadEvent] {
        // A device may have been signed since its keys were requested. If the server does not answer, the known state
        // counts.
        try? await session.crypto?.downloadKeys(Array(Set(events.filter(\.isEncrypted).map(\.sender))))
        return try session.decrypted(events, in: roomID).map { event in
            ReadEvent(event: event, shield: session.crypto?.shield(of: event.inRoom(roomID)) ?? .none)
        }
    }

    func invite(_ userID: String, to roomID: String) async throws -> String? {
        try await account.encryptedRoom(roomID, in: session).inviteGivingKeys(userID).map { Complaint.text($0) }
    }

    func ownDevices() async throws -> [String: DeviceStanding] {
        guard let crypto = session.crypto else { return [:] }
        try await crypto.downloadKeys([account.userID], forceDownload: true)
        let devices = try crypto.devices(forUser: account.userID)
        let (ownID, identity) = (account.client.credentials?.deviceId, crypto.crossSigning.state)
        return Dictionary(
            devices.map { device in
                (device.deviceId, DeviceStanding(device, identity: device.deviceId == ownID ? identity : nil))
            }
        ) { $1 }
    }
}
