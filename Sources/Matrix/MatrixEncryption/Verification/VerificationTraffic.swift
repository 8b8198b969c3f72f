import Basics
package import JSONBytes

/// An event of a room that may belong to a verification, decrypted.
package struct VerificationRoomEvent: Sendable {
    package let roomId: String
    package let eventId: String
    package let sender: String
    /// The session it was encrypted with, as the encrypted event names it; nil if it came in clear.
    package let sessionId: String?
    /// Milliseconds since 1970, as the server has it.
    package let time: UInt64
    package let type: String
    /// With the relation of the outside.
    package let content: JSONView

    package init(
        roomId: String, eventId: String, sender: String, sessionId: String?, time: UInt64, type: String,
        content: JSONView
    ) {
        (self.roomId, self.eventId, self.sender, self.sessionId) = (roomId, eventId, sender, sessionId)
        (self.time, self.type, self.content) = (time, type, content)
    }
}

/// What goes out for verifications into rooms, and what waits for the keys of those who sent it.
struct VerificationTraffic: Sendable {
    /// An event of the other side.
    struct Incoming: Sendable {
        let id: Verification.ID
        let type: VerificationEventType
        let content: JSONView
        /// When it was sent, as its sender says.
        let time: UInt64
        let arrival: UInt64
    }

    /// An event for a room.
    struct Outgoing: Sendable {
        let roomId: String
        let type: String
        let content: JSONView
        let transactionId: String
        /// It asks for a verification, of which it is to be the id.
        var request: Request?
    }

    struct Request: Sendable {
        let user: String
        let keys: VerificationKeys
        let methods: Set<VerificationMethod>
    }

    /// Those whose senders' devices are asked for.
    private var held: [Incoming] = []
    /// In order.
    var outgoing: [Outgoing] = []
    /// Transactions that this device doesn't know, and has cancelled: when.
    private var refused: [Verification.ID: UInt64] = [:]
    /// When the server was asked for devices of others, since these had begun a verification.
    private var queries: [UInt64] = []

    private static let heldOfAUser = 5
    private static let heldOfOthers = 20
    private static let queriesForOthers = 30
    private static let refusals = 100

    // MARK: Bounds

    /// Keeps an event until its sender's devices are known.
    ///
    /// - Returns: Whether it was kept: strangers are not to fill the memory, or make us ask for others all the time.
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

    /// Keeps an event behind another one of the same verification.
    mutating func holdNext(_ event: Incoming) {
        if hasPlace(for: event) { held.append(event) }
    }

    mutating func release(where isReady: (Incoming) -> Bool) -> [Incoming] {
        defer { held.removeAll(where: isReady) }
        return held.filter(isReady)
    }

    /// Whether a transaction that this device doesn't know is to be cancelled: once, and not for everybody.
    mutating func refuses(_ id: Verification.ID, now: UInt64) -> Bool {
        refused = refused.filter { $0.value + Verification.patience > now }
        guard refused[id] == nil, refused.count < Self.refusals else { return false }
        refused[id] = now
        return true
    }
}
