import Basics
import CNATS
import CurlTransport
package import RelayProtocol

/// Publishes many messages concurrently and reports the outcome of each.
///
/// It never resends and never waits for room. Its owner counts pending messages, resends in order, and stops reading
/// its sources.
package final class JetStreamPublisher: Sendable {
    package enum Outcome: Hashable, Sendable {
        case stored(StoredMessage)
        /// `mayRetry` shows whether the same message, with the same ID, may be stored later. After a timeout it may
        /// already be stored.
        case failed(NATSError)
    }

    package typealias Results = [(token: UInt64, outcome: Outcome)]

    private struct State: Sendable {
        var context: PublishContext?
        /// Results to be reported together, when the I/O thread gets to them.
        var results: Results = []
        var isClosed = false
    }

    private let connection: NATSConnection
    private let maximumFlight: Int
    private let wait: Duration
    private let onResults: @Sendable @NetworkActor (Results) -> Void
    private let calls = BlockingCalls("nats.publish")
    private let state = Lock(State())

    /// - Parameters:
    ///   - flight: The maximum number of pending messages of the owner. Beyond twice as many, libnats would block.
    ///   - wait: The time limit for an ack. Without it, a lost ack would never be reported.
    ///   - onResults: Receives results in batches, in any order of messages, on the I/O thread.
    package init(
        _ connection: NATSConnection, flight: Int = 512, wait: Duration = .seconds(2),
        onResults: @escaping @Sendable @NetworkActor (Results) -> Void
    ) {
        self.connection = connection
        maximumFlight = flight
        self.wait = wait
        self.onResults = onResults
    }

    /// Submits messages in order and returns at once. Each gets one result, unless the publisher is closed before.
    package func publish(_ entries: [Outbox.Entry]) {
        calls.run { [self] in
            let context: PublishContext
            do throws(NATSError) {
                context = try currentContext()
            } catch {
                return report(entries.map { ($0.token, .failed(error)) })
            }
            var failed: Results = []
            let start = MonotonicInstant.now
            for entry in entries {
                do throws(NATSError) {
                    try context.publish(entry, start: start, wait: wait)
                } catch {
                    failed.append((entry.token, .failed(error)))
                }
            }
            report(failed)
        }
    }

    package func close() {
        let context = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state.context
        }
        _ = context  // released after the lock
    }

    /// Returns the context of the current connection. Pending messages of the previous one have failed.
    private func currentContext() throws(NATSError) -> PublishContext {
        guard let link = connection.link else {
            throw NATSError(.notConnected, "a publish failed: there is no connection to a server")
        }
        if let context = state.withLock({ $0.context }), context.link === link { return context }
        let flight = PublishFlight { [weak self] token, outcome in
            self?.report([(token, outcome)])
        } explain: { [weak connection] error, subject, start in
            connection?.explained(error, subject: subject, since: start) ?? error
        }
        let context = try PublishContext(link, flight, maximumPending: maximumFlight * 2)
        let (old, isClosed) = state.withLock { state in
            defer { state.context = state.isClosed ? nil : context }
            return (state.context, state.isClosed)
        }
        guard !isClosed else { throw NATSError(.notConnected, "a publish failed: the publisher is closed") }
        // libnats silently discards pending messages when its context is destroyed.
        report(
            (old?.flight.abandon() ?? []).map {
                ($0, .failed(NATSError(.notConnected, "a publish failed: the connection was lost")))
            })
        return context
    }

    private func report(_ results: Results) {
        guard !results.isEmpty else { return }
        let areFirst = state.withLock { state in
            guard !state.isClosed else { return false }
            defer { state.results += results }
            return state.results.isEmpty
        }
        guard areFirst else { return }
        NetworkActor.execute { [self] in
            let batch = state.withLock { state in
                defer { state.results = [] }
                return state.results
            }
            if !batch.isEmpty { onResults(batch) }
        }
    }
}

/// A JetStream context of libnats for one connection.
///
/// `@unchecked Sendable`: the pointer is set once, and libnats locks what it points to.
private final class PublishContext: @unchecked Sendable {
    let link: NATSLink
    let flight: PublishFlight
    private let raw: OpaquePointer
    private let closure: UInt

    init(_ link: NATSLink, _ flight: PublishFlight, maximumPending: Int) throws(NATSError) {
        let closure = NATSCallbacks.add(flight)
        var options = jsOptions()
        jsOptions_Init(&options)
        options.PublishAsync.MaxPending = Int64(maximumPending)
        options.PublishAsync.StallWait = 1
        options.PublishAsync.AckHandlerClosure = UnsafeMutableRawPointer(bitPattern: closure)
        options.PublishAsync.AckHandler = { _, message, ack, error, closure in
            NATSCallbacks.object(of: closure, as: PublishFlight.self)?.ended(message, ack?.pointee, error?.pointee)
            natsMsg_Destroy(message)
        }
        var context: OpaquePointer?
        let status = natsConnection_JetStream(&context, link.connection, &options)
        guard status == NATS_OK, let context else {
            NATSCallbacks.remove(closure)
            throw NATSError(status, during: "a publish")
        }
        (self.link, self.flight, raw, self.closure) = (link, flight, context, closure)
    }

    deinit {
        NATSCallbacks.remove(closure)
        // Acks may still arrive for it.
        link.freeAtEnd { [raw = UInt(bitPattern: raw)] in jsCtx_Destroy(OpaquePointer(bitPattern: raw)) }
    }

    func publish(_ entry: Outbox.Entry, start: MonotonicInstant, wait: Duration) throws(NATSError) {
        try entry.message.withRaw { rawMessage throws(NATSError) in
            let id = UInt(bitPattern: rawMessage)
            // Added first, because the ack may arrive before the call returns.
            flight.add(id, entry, start)
            let status = entry.message.withPublishOptions(wait: wait) { js_PublishMsgAsync(raw, &rawMessage, &$0) }
            guard status != NATS_OK else { return }
            flight.remove(id)
            throw NATSError(status, during: entry.message.task)
        }
    }
}

/// The pending messages, by the address of libnats's message, which the ack contains.
private final class PublishFlight: Sendable {
    private let messages = Lock<[UInt: (entry: Outbox.Entry, start: MonotonicInstant)]>([:])
    private let onResult: @Sendable (UInt64, JetStreamPublisher.Outcome) -> Void
    private let explain: @Sendable (NATSError, String, MonotonicInstant) -> NATSError

    init(
        onResult: @escaping @Sendable (UInt64, JetStreamPublisher.Outcome) -> Void,
        explain: @escaping @Sendable (NATSError, String, MonotonicInstant) -> NATSError
    ) {
        (self.onResult, self.explain) = (onResult, explain)
    }

    func add(_ id: UInt, _ entry: Outbox.Entry, _ start: MonotonicInstant) {
        messages.withLock { $0[id] = (entry, start) }
    }

    func remove(_ id: UInt) { messages.withLock { $0[id] = nil } }

    /// Returns the messages that will not get a result any more.
    func abandon() -> [UInt64] {
        messages.withLock { messages in
            defer { messages = [:] }
            return messages.values.map(\.entry.token).sorted()
        }
    }

    /// Called on libnats's thread for acks.
    func ended(_ raw: OpaquePointer?, _ ack: jsPubAck?, _ failure: jsPubAckErr?) {
        guard let (entry, start) = messages.withLock({ $0.removeValue(forKey: UInt(bitPattern: raw)) }) else { return }
        if let ack {
            let stored = StoredMessage(sequence: ack.Sequence, isDuplicate: ack.Duplicate)
            return onResult(entry.token, .stored(stored))
        }
        let error = NATSError(
            failure?.Err ?? NATS_ERR, Int(failure?.ErrCode.rawValue ?? 0), during: entry.message.task,
            text: (failure?.ErrText).map { String(cString: $0) } ?? "")
        onResult(entry.token, .failed(explain(error, entry.message.subject, start)))
    }
}
