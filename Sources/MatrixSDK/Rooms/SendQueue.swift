import MatrixProtocol
import Transport

/// The messages of a room on their way to the server, one after the other in the order of the calls.
///
/// Each has a transaction id of its own from the start, so that trying again never makes two of one. When the network
/// fails, the message is tried again and those behind it wait; one that the server refuses has failed, and the next goes.
final class SendQueue: Sendable {
    private let roomId: String
    private let core: SessionCore
    let turns = Turns()
    private let isClosed = Lock(false)

    init(roomId: String, core: SessionCore) {
        self.roomId = roomId
        self.core = core
    }

    func close() { isClosed.withLock { $0 = true } }

    /// Puts a message into the room and the store, before anything of it is sent.
    func add(type: String, content: [String: Any], state: MXEvent.SentState) throws(MatrixError) -> MXOutgoingEvent {
        guard JSONSerialization.isValidJSONObject(content),
            let json = try? JSONSerialization.data(withJSONObject: content, options: .sortedKeys)
        else { throw MatrixError(.invalidArgument, "the content cannot be written as JSON", roomId: roomId) }
        let event = MXOutgoingEvent(
            transactionId: MXRestClient.newTransactionId(), roomId: roomId, type: type,
            content: String(decoding: json, as: UTF8.self),
            localEventId: MXEvent.localEventIdPrefix + UUID().uuidString,
            ts: UInt64(Date().timeIntervalSince1970 * 1000), state: state)
        try set(event)
        return event
    }

    /// - Returns: The id that the server has given it.
    func send(_ event: MXOutgoingEvent) async throws -> String {
        try await turns.inTurn { try await self.sendNow(event) }
    }

    private func sendNow(_ event: MXOutgoingEvent) async throws -> String {
        var event = event
        event.state = .sending
        event.failure = nil
        try set(event)
        do {
            let id = try await sendThroughFailures(event)
            try remove(event)
            core.onQueue { [event] core in core.room(event.roomId)?.echoConfirmed(event.localEventId, as: id) }
            return id
        } catch {
            event.state = .failed
            event.failure = "\(error)"
            try set(event)
            throw error
        }
    }

    private func sendThroughFailures(_ event: MXOutgoingEvent) async throws -> String {
        let deadline = ContinuousClock.now + core.options.sendRetryBound
        var attempt = 0
        while true {
            do {
                guard !isClosed.withLock({ $0 }) else { throw MatrixError.sessionClosed }
                return try await core.rest.sendEvent(
                    toRoom: roomId, eventType: MXEventType(identifier: event.type), contentJSON: event.content,
                    transactionId: event.transactionId)
            } catch let error as MatrixError where error.isRetryable && ContinuousClock.now < deadline {
                attempt += 1
                try await Task.sleep(for: min(.seconds(1) * (1 << min(attempt - 1, 4)), .seconds(15)))
            }
        }
    }

    // MARK: What the room and the store know of it

    private func set(_ event: MXOutgoingEvent) throws(MatrixError) {
        try core.change { model, _ in
            model.set(event)
            var changes = MXStoreChanges()
            changes.outgoing = [event]
            return changes
        }
    }

    func remove(_ event: MXOutgoingEvent) throws(MatrixError) {
        try core.change { model, _ in
            model.removeOutgoing(event)
            var changes = MXStoreChanges()
            changes.sentOutgoing = [event.transactionId]
            return changes
        }
    }
}
