import Basics
package import JSONBytes

/// A decrypted room event that may belong to a verification.
package struct VerificationRoomEvent: Sendable {
    package let roomId: String
    package let eventId: String
    package let sender: String
    /// The id of the session that encrypted it; `nil` if it was unencrypted.
    package let sessionId: String?
    /// The server's time in milliseconds since 1970.
    package let time: UInt64
    package let type: String
    /// The content, with the relation of the encrypted event.
    package let content: JSONView

    package init(
        roomId: String, eventId: String, sender: String, sessionId: String?, time: UInt64, type: String,
        content: JSONView
    ) {
        (self.roomId, self.eventId, self.sender, self.sessionId) = (roomId, eventId, sender, sessionId)
        (self.time, self.type, self.content) = (time, type, content)
    }
}

/// Outgoing verification events for rooms, and incoming ones that wait for their senders' keys.
struct VerificationTraffic: Sendable {
    /// An event from the other side.
    struct Incoming: Sendable {
        let id: Verification.ID
        let type: VerificationEventType
        let content: JSONView
        /// The time at which it was sent, as claimed by its sender.
        let time: UInt64
        let arrival: UInt64
    }

    /// An event for a room.
    struct Outgoing: Sendable {
        let roomId: String
        let type: String
        let content: JSONView
        let transactionId: String
        /// The verification that it requests, whose id will be the event's.
        var request: Request?
    }

    struct Request: Sendable {
        let user: String
        let keys: VerificationKeys
        let methods: Set<VerificationMethod>
    }

    /// Events whose senders' devices are being queried.
    private var held: [Incoming] = []
    /// The outgoing events, in order.
    var outgoing: [Outgoing] = []
    /// The times at which this device cancelled unknown transactions.
    private var refused: [Verification.ID: UInt64] = [:]
    /// The times of queries for other users' devices after they began a verification.
    private var queries: [UInt64] = []

    private static let heldOfAUser = 5
    private static let heldOfOthers = 20
    private static let queriesForOthers = 30
    private static let refusals = 100

    // MARK: Bounds

    /// Holds an event until its sender's devices are known.
    ///
    /// - Returns: Whether it was held: strangers must not fill the memory, or cause constant queries for others.
    mutating func hold(_ event: Incoming, isOwn: Bool, now: UInt64) -> Bool {
        guard hasPlace(for: event) else { return false }
        if !isOwn {
            queries.removeAll { $0 + Verification.patience <= now }
            guard held.count < Self.heldOfOthers, queries.count < Self.queriesForOthers else { return false }
            queries.append(now)
        }
        held.append(event)
        return true
    }

    private func hasPlace(for event: Incoming) -> Bool {
        held.count { $0.id.user.isExactly(event.id.user) } < Self.heldOfAUser
    }

    var heldCount: Int { held.count }

    func isHeld(_ id: Verification.ID) -> Bool { held.contains { $0.id == id } }

    /// Holds an event behind another one of the same verification.
    mutating func holdNext(_ event: Incoming) {
        if hasPlace(for: event) { held.append(event) }
    }

    mutating func release(where isReady: (Incoming) -> Bool) -> [Incoming] {
        defer { held.removeAll(where: isReady) }
        return held.filter(isReady)
    }

    /// Returns whether to cancel an unknown transaction: once, and only for a limited number.
    mutating func refuses(_ id: Verification.ID, now: UInt64) -> Bool {
        refused = refused.filter { $0.value + Verification.patience > now }
        guard refused[id] == nil, refused.count < Self.refusals else { return false }
        refused[id] = now
        return true
    }
}
