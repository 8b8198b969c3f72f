import Basics
import MatrixProtocol

/// A room's outgoing messages, sent one at a time in the order of the calls.
///
/// Each has its own transaction id from the start, so a retry never duplicates it. When the network fails, the message
/// is retried and those behind it wait. When the server refuses a message, it has failed, and the next one is sent.
final class SendQueue: Sendable {
    struct Entry: Sendable {
        let event: MXOutgoingEvent
        let turn: Turns.Turn
    }

    /// The preparation of a message in its turn before it is sent: uploads its files, encrypted if the room is.
    typealias Preparation = @Sendable (_ event: MXOutgoingEvent, _ isEncrypted: Bool) async throws -> MXOutgoingEvent

    private let roomId: String
    private let core: SessionCore
    let turns = Turns()
    private let isClosed = Lock(false)

    init(roomId: String, core: SessionCore) {
        self.roomId = roomId
        self.core = core
    }

    func close() { isClosed.withLock { $0 = true } }

    /// Adds a message to the queue, the room and the store before any of it is sent.
    ///
    /// - Parameter transactionId: The transaction id; `nil` generates one.
    func add(
        type: String, content: [String: Any], transactionId: String? = nil
    ) throws(MatrixError) -> Entry {
        try requireEncryptionOrPlain(type)
        guard let content = MXOutgoingEvent.text(of: content) else {
            throw MatrixError(.invalidArgument, "the content cannot be written as JSON", roomId: roomId)
        }
        let event = MXOutgoingEvent(
            transactionId: transactionId ?? MXRestClient.newTransactionId(), roomId: roomId, type: type,
            content: content,
            localEventId: MXEvent.localEventIdPrefix + UUID().uuidString,
            ts: AccessTokens.now, state: .preparing)
        let turn = turns.take()
        do {
            try core.account.change { model, _ in
                model.add(outgoing: event)
                return MXStoreChanges(outgoing: event)
            }
        } catch {
            try? remove(event)  // a message the store cannot keep is not sent
            throw error
        }
        core.tellSending(of: event)
        return Entry(event: event, turn: turn)
    }

    /// Adds a failed message behind the pending ones.
    func addAgain(_ localEventId: String) throws(MatrixError) -> Entry {
        let turn = turns.take()
        var entry: Entry?
        let isEncrypted = try core.account.isEncrypted(roomId)
        do {
            try core.account.change { model, _ throws(MatrixError) in
                guard model.outgoing(localEventId, in: roomId)?.lacksUpload != true else {
                    throw MatrixError(
                        .invalidArgument,
                        "the file of this message was not uploaded: remove the message, and send the file again",
                        roomId: roomId)
                }
                guard !isEncrypted || model.outgoing(localEventId, in: roomId)?.hasClearUpload != true else {
                    throw clearUpload
                }
                guard let event = model.resume(outgoing: localEventId, in: roomId) else { throw notFailed }
                entry = Entry(event: event, turn: turn)
                return MXStoreChanges(outgoing: event)
            }
        } catch {
            if let entry { fail(entry.event, error) }
            throw error
        }
        guard let entry else { throw notFailed }
        core.tellSending(of: entry.event)
        return entry
    }

    func remove(failed localEventId: String) throws(MatrixError) {
        var removed: MXOutgoingEvent?
        try core.account.change { model, _ throws(MatrixError) in
            guard let event = model.outgoing(localEventId, in: roomId), event.state == .failed else { throw notFailed }
            model.removeOutgoing(event)
            removed = event
            return MXStoreChanges(sent: event)
        }
        if let removed { core.tellSending(of: removed) }
    }

    private var notFailed: MatrixError {
        MatrixError(.eventNotFound, "there is no message of that id that has failed", roomId: roomId)
    }

    /// Reactions are never encrypted.
    private func requireEncryptionOrPlain(_ type: String) throws(MatrixError) {
        guard !core.account.encrypts, type != MXEventType.reaction.identifier, try core.account.isEncrypted(roomId)
        else { return }
        throw MatrixError(
            .encryptionNotAvailable,
            "room \(roomId) is encrypted, and this session does not encrypt: the message was not sent", roomId: roomId)
    }

    private func requirePlain() throws(MatrixError) {
        guard try core.account.isEncrypted(roomId) else { return }
        throw clearUpload
    }

    private var clearUpload: MatrixError {
        MatrixError(
            .encryptionNotAvailable,
            "room \(roomId) was not encrypted when the file was uploaded, and is now: send the file again",
            roomId: roomId)
    }

    // MARK: Sending

    /// - Parameter keepsFailed: Whether a refused message stays, to be resent or discarded.
    /// - Returns: The event id from the server.
    func send(
        _ entry: Entry, keepsFailed: Bool = true, _ preparation: Preparation? = nil
    ) async throws -> String {
        try await entry.turn.run { try await self.sendNow(entry.event, keepsFailed: keepsFailed, preparation) }
    }

    private func sendNow(
        _ event: MXOutgoingEvent, keepsFailed: Bool, _ preparation: Preparation?
    ) async throws -> String {
        var event = event
        var hasClearUpload = false
        do {
            if let preparation {
                try requireEncryptionOrPlain(event.type)
                event.state = .uploading
                try update(event)
                let isEncrypted = try core.account.isEncrypted(roomId)
                hasClearUpload = !isEncrypted
                event = try await preparation(event, isEncrypted)
            }
            event.state = .sending
            try update(event)
            let id = try await sendThroughFailures(event, hasClearUpload: hasClearUpload)
            confirm(event, as: id)
            return id
        } catch {
            // Never resend what may have arrived under another id. Repeating a reaction or an edit changes nothing.
            let mayBeThere = event.state == .sending && !Self.isRefusal(error) && event.target == nil
            if keepsFailed || mayBeThere {
                fail(event, error)
            } else {
                try? remove(event)  // if the session is closed it stays in the store
            }
            throw error
        }
    }

    private func sendThroughFailures(_ event: MXOutgoingEvent, hasClearUpload: Bool) async throws -> String {
        var event = event
        let deadline = ContinuousClock.now + core.options.sendRetryBound.bounded
        var pause = Duration.seconds(1)
        while true {
            guard !isClosed.withLock({ $0 }) else { throw MatrixError.sessionClosed }
            // A sync may have reported since then that the room is encrypted.
            if hasClearUpload { try requirePlain() }
            event = try await core.readyToSend(event)
            do {
                return try await core.rest.sendCheckedEvent(
                    toRoom: roomId, eventType: MXEventType(identifier: event.sentType),
                    content: EncodedJSON(text: Array(event.sentContent.utf8)), transactionId: event.transactionId)
            } catch {
                guard Self.mayHelp(toRetryAfter: error) else { throw error }
                let wait = max(pause, (error as? MXError)?.retryAfter ?? .zero)
                guard ContinuousClock.now + wait < deadline else { throw error }
                try await Task.sleep(for: wait)
                pause = min(pause * 2, .seconds(15))
            }
        }
    }

    private static func mayHelp(toRetryAfter error: any Error) -> Bool {
        switch error {
        case let error as MXError: error.status == 429 || error.status >= 500
        case let error as MatrixError: error.isRetryable
        default: false
        }
    }

    /// Whether the server definitely does not have the message.
    private static func isRefusal(_ error: any Error) -> Bool {
        switch error {
        case let error as MXError: error.status < 500
        case let error as MatrixError: !error.isRetryable && error.code != .cancelled && error.code != .badResponse
        default: false
        }
    }

    // MARK: Updating the room and the store

    /// - Throws: Also if the message must no longer be sent.
    private func update(_ event: MXOutgoingEvent) throws(MatrixError) {
        defer { core.onQueue { $0.report(.sendingChanged(roomId: event.roomId)) } }
        try core.account.change { model, _ throws(MatrixError) in
            guard let updated = model.update(outgoing: event) else {
                throw MatrixError(
                    .eventNotFound, "the message was given up, or has arrived: it is not sent", roomId: roomId)
            }
            return MXStoreChanges(outgoing: updated)
        }
    }

    /// Marks the message as failed in the model and, sooner or later, the store, unless it was discarded or has
    /// arrived.
    private func fail(_ event: MXOutgoingEvent, _ error: any Error) {
        // The encrypted form stays: it may have arrived.
        var event = core.account.model { $0.outgoing(event.localEventId, in: roomId) }?.flatMap(\.self) ?? event
        event.state = .failed
        event.failure = error is CancellationError ? MatrixError.cancelled.message : "\(error)"
        try? update(event)
        core.tellSending(of: event)
    }

    /// Records that the server has the message, even if the store cannot take that at once.
    private func confirm(_ event: MXOutgoingEvent, as eventId: String) {
        var isNews = false
        try? core.account.change { model, store in
            let stored = (try? store.knownEvents(among: [eventId], in: event.roomId)) ?? []
            let changes = model.confirm(event, as: eventId, isStored: !stored.isEmpty)
            isNews = changes != nil
            return changes
        }
        core.tellSending(of: event)
        guard isNews else { return }
        core.onQueue { core in core.room(event.roomId)?.echoConfirmed(event.localEventId, as: eventId) }
    }

    func remove(_ event: MXOutgoingEvent) throws(MatrixError) {
        try core.account.change { model, _ in
            model.removeOutgoing(event)
            return MXStoreChanges(sent: event)
        }
        core.tellSending(of: event)
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
    /// Reports that a message of the user is pending, has arrived or has failed, and with it its relation to another
    /// event.
    fileprivate func tellSending(of event: MXOutgoingEvent) {
        if let target = event.target { tell([.relationsChanged(roomId: event.roomId, eventId: target)]) }
        onQueue { $0.report(.sendingChanged(roomId: event.roomId)) }
    }
}

extension MXOutgoingEvent {
    /// - Returns: `nil` if JSON cannot represent the content.
    static func text(of content: [String: Any]) -> String? {
        guard JSONSerialization.isValidJSONObject(content),
            let json = try? JSONSerialization.data(withJSONObject: content, options: .sortedKeys)
        else { return nil }
        return String(decoding: json, as: UTF8.self)
    }
}
