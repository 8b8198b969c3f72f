import Basics
import CurlTransport
import Realtime
import RelayProtocol

/// Connects the readers of a consumer to its listeners with a hub.
final class ConsumerCore: HubOwner {
    private struct State: Sendable {
        var terms = TermFilter()
        /// Readers waiting for the fences; nil once they are known.
        var toStart: [ConsumerReader]? = []
        var readers: [ConsumerReader] = []
        var fences: RecordWatch?
        var hubReader: ConsumerReader?
        var holds = 0
        var isClosed = false
    }

    let options: EventConsumerOptions
    let connection: NATSConnection
    let hub: EventHub<SourceNotice>
    private let state = Lock(State())

    init(_ nats: NATSOptions, _ options: EventConsumerOptions) {
        self.options = options
        connection = NATSConnection(nats)
        hub = EventHub(options.callbackQueue, capacity: CallbackLoad(count: 1024, byteCount: 16 << 20))
    }

    var connectionState: ConnectionState { connection.connectionState }

    var lateEventCount: Int { state.withLock { $0.terms.staleCount } }

    // MARK: Life cycle

    /// Adds a reader. Connects with the first one.
    func add(_ reader: ConsumerReader) {
        do throws(NATSError) {
            try options.validate()
        } catch {
            return failed(error, willRetry: false, reader: reader)
        }
        let (isFirst, isToStart) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed else { return (false, false) }
            state.readers.append(reader)
            let isFirst = state.fences == nil
            if isFirst { state.fences = makeFences() }
            guard state.toStart == nil else {
                state.toStart?.append(reader)
                return (isFirst, false)
            }
            return (isFirst, true)
        }
        if isFirst { connect() }
        if isToStart { NetworkActor.execute { reader.start() } }
    }

    func remove(_ reader: ConsumerReader) {
        state.withLock { state in
            state.readers.removeAll { $0 === reader }
            state.toStart?.removeAll { $0 === reader }
        }
        NetworkActor.execute { reader.close() }
    }

    private func connect() {
        connection.observe { [weak self] news in
            switch news {
            case .connected: self?.publish(.connected)
            case .disconnected: self?.publish(.reconnecting)
            case .closed: self?.publish(.disconnected)
            case .failed(let error): self?.failed("\(error)", willRetry: true, error)
            }
        }
        publish(.connecting)
        state.withLock { $0.fences }?.start()
        connection.start()
    }

    /// Starts delivering events to bindings and to hubs that this one is attached to.
    func start() {
        let reader = ConsumerReader(self, name: nil) { [weak self] events in self?.deliver(events) }
        let isNew = state.withLock { state in
            guard state.hubReader == nil, !state.isClosed else { return false }
            state.hubReader = reader
            return true
        }
        if isNew { add(reader) }
    }

    /// - Parameter then: Called when the core is closed.
    func close(then: @escaping @Sendable () -> Void = {}) {
        let old = state.withLock { state in
            defer { state = State(terms: state.terms, toStart: nil, isClosed: true) }
            return state
        }
        old.fences?.close()
        // Give back waiting messages before the connection ends.
        NetworkActor.execute { [self] in
            for reader in old.readers { reader.close() }
            // Messages that the readers still receive at their end are given back from this actor.
            connection.calls.run { [self] in
                NetworkActor.execute { [self] in
                    hub.close()
                    connection.calls.run { [self] in connection.close(then: then) }
                }
            }
        }
    }

    // MARK: Terms

    /// Watches the last fence of each slot and new ones, because a worker of a group doesn't receive all of them as
    /// messages.
    private func makeFences() -> RecordWatch {
        let prefix = options.prefix
        return RecordWatch(
            connection, stream: options.stream, filter: "\(prefix).\(RelayMessage.fenceSource).*.term",
            headers: RelayMessage.headerNames
        ) { [weak self] news in
            switch news {
            case .records(let records):
                for record in records {
                    let fence = try? RelayMessage(
                        subject: record.subject, prefix: prefix, payload: record.payload, header: record.message.header)
                    if let fence { _ = self?.isLate(fence, position: record.revision, time: record.time) }
                }
            case .complete: self?.fencesAreKnown()
            case .failed(let error, let willRetry):
                // Proceed with only the terms of the messages themselves, unless the servers are temporarily
                // unavailable.
                let isAway = [.notConnected, .noResponders, .unavailable].contains(error.kind)
                if !willRetry || !isAway { self?.fencesAreKnown() }
                // The reader also reports it if it cannot continue.
                if !willRetry, error.kind != .notFound {
                    self?.failed(
                        "takeovers of relays are known from the events alone: \(error)", willRetry: false)
                }
            }
        }
    }

    private func fencesAreKnown() {
        let readers = state.withLock { state in
            defer { state.toStart = nil }
            return state.toStart ?? []
        }
        for reader in readers { NetworkActor.execute { reader.start() } }
    }

    func isLate(_ message: RelayMessage, position: UInt64, time: Int64) -> Bool {
        state.withLock { $0.terms.isStale(message, position: position, time: time) }
    }

    /// Discards the terms of a stream that no longer exists.
    func forgetTerms() { state.withLock { $0.terms.forget() } }

    /// Expects the stream to be new, because a group disappears with its stream.
    func expectNewStream() { state.withLock { $0.terms.expectNewStream() } }

    // MARK: What comes, for the hub

    @NetworkActor
    private func deliver(_ events: [ReceivedEvent]) {
        var batch = SourceEvents()
        for received in events {
            let event = received.event
            batch.append(
                name: event.eventName, channel: event.channelName.map { options.channelPrefix + $0 },
                data: event.hasData ? event.dataBytes : nil, userId: event.userId,
                origin: event.origin)
        }
        publish(batch)
        // After the bindings.
        runCallback { [weak self] in
            NetworkActor.execute { self?.state.withLock { $0.hubReader }?.ended(events) }
        }
    }

    private func publish(_ new: ConnectionState) {
        publish(SourceState(channelName: options.channelPrefix, connectionState: new, underlying: new))
    }

    func failed(_ message: String, willRetry: Bool, _ error: NATSError? = nil) {
        publish(
            SourceFailure(message, willRetry: willRetry, underlying: error))
    }

    func failed(_ error: NATSError, willRetry: Bool, reader: ConsumerReader) {
        failed("\(error)", willRetry: willRetry, error)
        guard !willRetry else { return }
        remove(reader)
        state.withLock { state in
            if state.hubReader === reader { state.hubReader = nil }
        }
    }

    // MARK: Slow readers

    func hold(for reader: EventReader) { change(by: 1) }

    func release(for reader: EventReader) { change(by: -1) }

    func hold(_ isHeld: Bool) { change(by: 0) }

    private func change(by change: Int) {
        state.withLock { $0.holds += change }
        NetworkActor.execute { [self] in
            let (reader, holds) = state.withLock { ($0.hubReader, $0.holds) }
            reader?.hold(holds > 0 || hub.isHeldBySinks)
        }
    }

    func lost(_ loss: EventLoss, channelName: String?) {
        switch loss {
        case .oldest: break
        case .rest: failed("a sequence of events was read too slowly and has ended", willRetry: false)
        }
    }

    func execute(_ job: @escaping @Sendable () -> Void) { NetworkActor.execute { job() } }
}
