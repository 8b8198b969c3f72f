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
        try session.decrypted(events, in: roomID).map { event in
            ReadEvent(event: event, shield: session.crypto?.shield(of: event.inRoom(roomID)) ?? .none)
        }
    }
}
