import MatrixProtocol
import Basics

/// Which rooms are encrypted, as far as requests need to know: what is sent in the clear there would be read by everybody
/// who should not, and shown by nobody's client.
final class RoomEncryption: Sendable {
    private enum Finding {
        case encrypted
        /// It may become encrypted at any time.
        case plain(until: ContinuousClock.Instant)
    }

    /// How long a room that was not encrypted is taken for one.
    private static let trust = Duration.seconds(30)
    private static let maximumCount = 10_000

    private let findings = Lock<[String: Finding]>([:])

    /// Nil: it is not known, or not any more.
    func isEncrypted(_ roomId: String) -> Bool? {
        switch findings.withLock({ $0[roomId] }) {
        case .encrypted: true
        case .plain(let end): ContinuousClock.now < end ? false : nil
        case nil: nil
        }
    }

    func note(_ roomId: String, isEncrypted: Bool) {
        findings.withLock { findings in
            if findings.count >= Self.maximumCount { findings = [:] }
            findings[roomId] = isEncrypted ? .encrypted : .plain(until: .now + Self.trust)
        }
    }
}

extension MXRestClient {
    /// Throws for a room that is encrypted, unless events of this type never are. Asks the server now and then.
    package func requirePlain(_ roomId: String, for eventType: MXEventType = .roomMessage) async throws {
        guard eventType != .reaction, eventType != .roomEncrypted else { return }
        guard try await isEncrypted(roomId) else { return }
        throw MatrixError(
            .encryptionNotAvailable,
            "room \(roomId) is encrypted, and this library cannot encrypt: nothing was sent", roomId: roomId)
    }

    private func isEncrypted(_ roomId: String) async throws -> Bool {
        if let known = encryption.isEncrypted(roomId) { return known }
        let isEncrypted: Bool
        do {
            _ = try await stateEvent(ofRoom: roomId, eventType: .roomEncryption)
            isEncrypted = true
        } catch let error as MXError where error.status == 404 {
            isEncrypted = false
        } catch let error as MXError where error.status == 403 {
            return false  // not ours to see: the server refuses the message as well
        }
        encryption.note(roomId, isEncrypted: isEncrypted)
        return isEncrypted
    }
}
