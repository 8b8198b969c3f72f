import MatrixProtocol
import Transport

/// The messages of a room on their way to the server, one after the other in the order of the calls.
///
/// Each has a transaction id of its own from the start, so that trying again never makes two of one. When the network
/// fails, the message is tried again and those behind it wait; one that the server refuses has failed, and the next goes.
final class SendQueue: Sendable {
    /// A message that has its place in the queue.
    struct Entry: Sendable {
        let event: MXOutgoingEvent
        let turn: Turns.Turn
    }

    /// What is to be done for a message in its turn before it is sent: uploads of what it carries.
    typealias Preparation = @Sendable (MXOutgoingEvent) async throws -> MXOutgoingEvent

    private let roomId: String
    private let core: SessionCore
    let turns = Turns()
    private let isClosed = Lock(false)

    init(roomId: String, core: SessionCore) {
        self.roomId = roomId
        self.core = core
    }

    func close() { isClosed.withLock { $0 = true } }

    /// Puts a message into the queue, the room and the store, before anything of it is sent.
    func add(type: String, content: [String: Any]) throws(MatrixError) -> Entry {
        guard let content = MXOutgoingEvent.text(of: content) else {
            throw MatrixError(.invalidArgument, "the content cannot be written as JSON", roomId: roomId)
        }
        let event = MXOutgoingEvent(
            transactionId: MXRestClient.newTransactionId(), roomId: roomId, type: type, content: content,
            localEventId: MXEvent.localEventIdPrefix + UUID().uuidString,
            ts: UInt64(Date().timeIntervalSince1970 * 1000), state: .preparing)
        let turn = turns.take()
        try core.change { model, _ in
            model.add(outgoing: event)
            return MXStoreChanges(outgoing: event)
        }
        core.tellRelations(of: event)
        return Entry(event: event, turn: turn)
    }

    /// - Parameter keepsFailed: A message that could not be sent stays, to be sent again or given up.
    /// - Returns: The id that the server has given it.
    func send(
        _ entry: Entry, keepsFailed: Bool = true, _ preparation: Preparation? = nil
    ) async throws -> String {
        try await entry.turn.run {
            do {
                return try await self.sendNow(entry.event, preparation)
            } catch {
                if !keepsFailed { try? self.remove(entry.event) }  // of a session that is closed it stays in the store
                throw error
            }
        }
    }

    /// Sends a message again that has failed.
    func resend(_ event: MXOutgoingEvent) async throws -> String {
        try await turns.inTurn { try await self.sendNow(event, nil) }
    }

    private func sendNow(_ event: MXOutgoingEvent, _ preparation: Preparation?) async throws -> String {
        var event = event
        event.failure = nil
        do {
            if let preparation {
                event.state = .uploading
                try update(event)
                event = try await preparation(event)
            }
            event.state = .sending
            try update(event)
            let id = try await sendThroughFailures(event)
            try confirm(event, as: id)
            return id
        } catch {
            event.state = .failed
            event.failure = error is CancellationError ? MatrixError.cancelled.message : "\(error)"
            try update(event)
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

    private func update(_ event: MXOutgoingEvent) throws(MatrixError) {
        try core.change { model, _ in model.update(outgoing: event) ? MXStoreChanges(outgoing: event) : nil }
        if event.state == .failed { core.tellRelations(of: event) }
    }

    private func confirm(_ event: MXOutgoingEvent, as eventId: String) throws(MatrixError) {
        try core.change { model, _ in
            model.confirm(event, as: eventId)
            return MXStoreChanges(sent: event)
        }
        core.tellRelations(of: event)
        core.onQueue { core in core.room(event.roomId)?.echoConfirmed(event.localEventId, as: eventId) }
    }

    /// Gives a message up.
    func remove(_ event: MXOutgoingEvent) throws(MatrixError) {
        try core.change { model, _ in
            model.removeOutgoing(event)
            return MXStoreChanges(sent: event)
        }
        core.tellRelations(of: event)
    }
}

extension MXStoreChanges {
    fileprivate init(outgoing event: MXOutgoingEvent) {
        self.init()
        outgoing = [event]
    }

    fileprivate init(sent event: MXOutgoingEvent) {
        self.init()
        sentOutgoing = [event.transactionId]
    }
}

extension SessionCore {
    /// What one's own event says about another one has changed.
    fileprivate func tellRelations(of event: MXOutgoingEvent) {
        guard let target = event.target else { return }
        tell([.relationsChanged(roomId: event.roomId, eventId: target)])
    }
}

extension MXOutgoingEvent {
    /// - Returns: Nil for what JSON cannot express.
    static func text(of content: [String: Any]) -> String? {
        guard JSONSerialization.isValidJSONObject(content),
            let json = try? JSONSerialization.data(withJSONObject: content, options: .sortedKeys)
        else { return nil }
        return String(decoding: json, as: UTF8.self)
    }
}
