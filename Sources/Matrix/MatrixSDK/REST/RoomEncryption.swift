import Basics
import MatrixProtocol

/// Rooms known to be encrypted. They stay so: plain text sent there could be read by the wrong people, and no client
/// would show it. Any other room may become encrypted at any time.
final class EncryptedRooms: Sendable {
    private static let maximumCount = 10_000

    private let ids = Lock<Set<String>>([])

    func contains(_ roomId: String) -> Bool { ids.withLock { $0.contains(roomId) } }

    func insert(_ roomId: String) {
        ids.withLock { ids in
            if ids.count >= Self.maximumCount { ids = [] }
            ids.insert(roomId)
        }
    }
}

extension MXRestClient {
    /// Throws if a room is encrypted, unless events of this type are never encrypted. Asks the server each time until
    /// the room is known to be encrypted.
    package func requirePlain(_ roomId: String, for eventType: MXEventType = .roomMessage) async throws {
        guard eventType != .reaction, eventType != .roomEncrypted else { return }
        guard try await isEncrypted(roomId) else { return }
        throw MatrixError(
            .encryptionNotAvailable,
            "room \(roomId) is encrypted, and this library cannot encrypt: nothing was sent", roomId: roomId)
    }

    /// Returns whether a room is encrypted. Asks the server each time until it is.
    package func isEncrypted(_ roomId: String) async throws -> Bool {
        if encryptedRooms.contains(roomId) { return true }
        do {
            _ = try await stateEvent(ofRoom: roomId, eventType: .roomEncryption)
        } catch let error as MXError where error.status == 404 {
            return false
        } catch let error as MXError where error.status == 403 {
            return false  // no access: the server refuses the message as well
        }
        encryptedRooms.insert(roomId)
        return true
    }
}
