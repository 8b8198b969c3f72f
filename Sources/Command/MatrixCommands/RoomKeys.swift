import CommandKit
import Foundation
import MatrixProtocol
import MatrixSDK

/// Who can encrypt and decrypt for a login: a session of this process, or the process that has the keys.
protocol RoomKeys: Sendable {
    /// Sends a message into a room, encrypted if the room is.
    ///
    /// - Returns: Its event id.
    func send(_ content: [String: Any], to roomID: String, transactionID: String?) async throws -> String

    /// The same of a file, which is encrypted, uploaded and sent.
    func upload(
        _ file: URL, mimeType: String, caption: String?, to roomID: String,
        onProgress: @escaping @Sendable (MXTransferProgress) -> Void
    ) async throws -> String

    /// Events of a room with what is inside, as far as the keys are here.
    func read(_ events: [MXEvent], in roomID: String) async throws -> [ReadEvent]

    /// Invites a user, who is given the keys of earlier messages if new members may read those.
    ///
    /// - Returns: Why the keys could not be given; nil if they were, or there are none to give.
    func invite(_ userID: String, to roomID: String) async throws -> String?

    /// What the homeserver's list of the user's own devices is worth, by their ids. Those without keys are missing.
    func ownDevices() async throws -> [String: DeviceStanding]
}

/// How much one of the user's own devices is trusted.
enum DeviceStanding: String, Sendable, CaseIterable {
    case verified
    case unverified = "not verified"
    /// It gets no keys.
    case blocked
    /// The homeserver names other keys than at first: an alarm.
    case changed = "keys changed"

    /// - Parameter identity: Of the user, for this very device, which is verified if that is trusted; nil for others.
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

/// The keys of a session that is up to date.
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
        // A device may have been signed since its keys were asked for. Without an answer it is judged by what is known.
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
