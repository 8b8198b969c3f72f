import Basics
import MatrixProtocol

/// Rooms that are known to be encrypted, which they stay: what is sent in the clear there would be read by everybody who
/// should not, and shown by nobody's client. A room that is not may become so at any time.
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
    /// Throws for a room that is encrypted, unless events of this type never are. Asks the server each time, until it says
    /// that the room is.
    package func requirePlain(_ roomId: String, for eventType: MXEventType = .roomMessage) async throws {
        guard eventType != .reaction, eventType != .roomEncrypted else { return }
        guard try await isEncrypted(roomId) else { return }
        throw MatrixError(
            .encryptionNotAvailable,
            "room \(roomId) is encrypted, and this library cannot encrypt: nothing was sent", roomId: roomId)
    }

    /// Whether a room is encrypted. The server is asked each time, until it says so.
    package func isEncrypted(_ roomId: String) async throws -> Bool {
        if encryptedRooms.contains(roomId) { return true }
        do {
            _ = try await stateEvent(ofRoom: roomId, eventType: .roomEncryption)
        } catch let error as MXError where error.status == 404 {
            return false
        } catch let error as MXError where error.status == 403 {
            return false  // not ours to see: the server refuses the message as well
        }
        encryptedRooms.insert(roomId)
        return true
    }
}
