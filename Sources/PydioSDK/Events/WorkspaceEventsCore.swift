import CurlTransport
import PydioProtocol
import Realtime
import Transport

/// Joins a ``WorkspaceDriver`` to who listens: bindings, sequences, and clients that the source is attached to.
final class WorkspaceEventsCore: Sendable {
    private struct State: Sendable {
        var state = ConnectionState.disconnected
        var sequence: Int64?
        var isClosed = false
        var sinks: [WeakSink] = []
        /// Sinks that are too slow.
        var holders: Set<ObjectIdentifier> = []
        var events: [Listener<PydioEvent>] = []
        var failures: [Listener<SourceFailure>] = []
        var gaps: [Listener<SourceGap>] = []

        /// Removes a sink, and those that are gone.
        ///
        /// - Returns: The others, to be let go of after the lock: this may hold the last reference to one.
        mutating func remove(_ sink: any RealtimeEventSink) -> [any RealtimeEventSink] {
            let living = sinks.compactMap(\.sink)
            let ids = Set(living.map { ObjectIdentifier($0) }).subtracting([ObjectIdentifier(sink)])
            sinks.removeAll { !ids.contains($0.id) }
            holders.formIntersection(ids)
            return living
        }
    }

    private struct WeakSink: Sendable {
        let id: ObjectIdentifier
        weak var sink: (any RealtimeEventSink)?

        init(sink: any RealtimeEventSink) {
            id = ObjectIdentifier(sink)
            self.sink = sink
        }
    }

    /// A reader's buffer, as long as there is a reader.
    private struct Listener<Element: Sendable>: Sendable {
        let name: String?
        let reader: EventReader
        weak var buffer: EventBuffer<Element>?

        init(name: String? = nil, reader: EventReader? = nil, buffer: EventBuffer<Element>) {
            self.name = name
            self.reader = reader ?? EventReader(.sequence, eventName: name, channelName: nil)
            self.buffer = buffer
        }
    }

    /// Failures and gaps that wait for a reader.
    private static let reportLimit = 100

    let client: PydioClient
    let workspaceId: String
    let channelName: String
    private let options: PydioEventsOptions
    private let state: Lock<State>
    private let bindings = Lock<PydioEventBindings?>(nil)
    private let driver = Lock<WorkspaceDriver?>(nil)

    init(client: PydioClient, workspaceId: String, options: PydioEventsOptions) {
        // One with the same session, so that the application's client does not tell of our requests as of its own.
        self.client = PydioClient(server: client.serverURL, params: client.params, options: client.options)
        self.workspaceId = workspaceId
        self.options = options
        channelName = "pydio:\((try? client.channelServer) ?? "")/\(workspaceId)"
        var state = State()
        state.sequence = options.sequence
        self.state = Lock(state)
    }

    var connectionState: ConnectionState { state.withLock { $0.state } }
    var sequence: Int64? { state.withLock { $0.sequence } }

    // MARK: Life

    /// Runs `body` on the I/O thread, after what was asked for before.
    func withDriver(_ body: @escaping @Sendable @NetworkActor (WorkspaceDriver) -> Void) {
        guard !state.withLock({ $0.isClosed }) else { return }
        let driver = driver.withLock { driver -> WorkspaceDriver in
            if let driver { return driver }
            let requests = WorkspaceRequests(
                client: client, workspaceId: workspaceId, maximumNodes: max(options.maximumNodes, 0))
            let new = WorkspaceDriver(requests, options: options) { [weak self] in self?.tell($0) }
            driver = new
            return new
        }
        NetworkActor.execute { body(driver) }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        // Its last reports come before the end of all that listen.
        let driver = driver.withLock { driver in
            defer { driver = nil }
            return driver
        }
        guard let driver else { return finish() }
        NetworkActor.execute {
            driver.close()
            self.finish()
        }
    }

    private func finish() {
        let old = state.withLock { state in
            defer { (state.sinks, state.events, state.failures, state.gaps) = ([], [], [], []) }
            return state
        }
        for listener in old.events { listener.buffer?.finish() }
        for listener in old.failures { listener.buffer?.finish() }
        for listener in old.gaps { listener.buffer?.finish() }
    }

    // MARK: What comes

    private func tell(_ report: WorkspaceDriver.Report) {
        switch report {
        case .events(let events): hand(events)
        case .changed(let new):
            state.withLock { $0.state = new }
            hand([PydioEvent(state: new, in: workspaceId)])
        case .sequence(let sequence): state.withLock { $0.sequence = sequence }
        case .gap(let start, let end):
            let gap = SourceGap(channelName: channelName, start: start, end: end)
            let (sinks, listeners) = state.withLock { ($0.sinks.compactMap(\.sink), $0.gaps) }
            for sink in sinks { sink.receive(gap) }
            for listener in listeners { _ = listener.buffer?.add(gap) }
        case .failed(let failure): tell(failure)
        }
    }

    private func tell(_ failure: SourceFailure) {
        let failure = SourceFailure(
            failure.message, channelName: channelName, willRetry: failure.willRetry, retryAfter: failure.retryAfter)
        let (sinks, listeners) = state.withLock { ($0.sinks.compactMap(\.sink), $0.failures) }
        for sink in sinks { sink.receive(failure) }
        for listener in listeners { _ = listener.buffer?.add(failure) }
    }

    private func hand(_ events: [PydioEvent]) {
        let (sinks, listeners) = state.withLock { ($0.sinks.compactMap(\.sink), $0.events) }
        if !sinks.isEmpty {
            var batch = SourceEvents()
            for event in events { batch.append(name: event.name, channel: channelName, data: event.data) }
            for sink in sinks { sink.receive(batch) }
        }
        for listener in listeners {
            for event in events where listener.name == nil || listener.name == event.name {
                guard let buffer = listener.buffer else { break }
                switch buffer.add(event) {
                case .buffered, .droppedOldest, .finished: break
                case .full: withDriver { [reader = listener.reader] in $0.hold(for: reader) }
                case .overflowed: tell(SourceFailure("a sequence of events was read too slowly and has ended"))
                }
            }
        }
        bindings.withLock { $0 }?.tell(events)
    }

    // MARK: Listeners

    func events(_ name: String?, _ policy: EventBufferingPolicy) -> EventSequence<PydioEvent> {
        let reader = EventReader(.sequence, eventName: name, channelName: channelName)
        let buffer = EventBuffer<PydioEvent>(policy: policy) { [weak self] in
            self?.withDriver { $0.release(for: reader) }
        }
        let isClosed = state.withLock { state in
            state.events.removeAll { $0.buffer == nil }
            if !state.isClosed { state.events.append(Listener(name: name, reader: reader, buffer: buffer)) }
            return state.isClosed
        }
        if isClosed { buffer.finish() }
        return EventSequence(buffer) {}
    }

    var failures: EventSequence<SourceFailure> {
        let buffer = EventBuffer<SourceFailure>(policy: .dropOldest(limit: Self.reportLimit))
        let isClosed = state.withLock { state in
            state.failures.removeAll { $0.buffer == nil }
            if !state.isClosed { state.failures.append(Listener(buffer: buffer)) }
            return state.isClosed
        }
        if isClosed { buffer.finish() }
        return EventSequence(buffer) {}
    }

    var gaps: EventSequence<SourceGap> {
        let buffer = EventBuffer<SourceGap>(policy: .dropOldest(limit: Self.reportLimit))
        let isClosed = state.withLock { state in
            state.gaps.removeAll { $0.buffer == nil }
            if !state.isClosed { state.gaps.append(Listener(buffer: buffer)) }
            return state.isClosed
        }
        if isClosed { buffer.finish() }
        return EventSequence(buffer) {}
    }

    func bind(_ binding: PydioEventBinding) {
        bindings.withLock { bindings -> PydioEventBindings in
            if let bindings { return bindings }
            let new = PydioEventBindings(on: client.options.completionQueue) { [weak self] reader, isHeld in
                self?.withDriver { isHeld ? $0.hold(for: reader) : $0.release(for: reader) }
            }
            bindings = new
            return new
        }.add(binding)
    }

    func unbind(_ binding: PydioEventBinding?) {
        let bindings = bindings.withLock { $0 }
        if let binding { bindings?.remove(binding) } else { bindings?.removeAll() }
    }

    // MARK: Sinks and holding

    func attach(_ sink: any RealtimeEventSink) {
        _ = state.withLock { state in
            let others = state.remove(sink)
            if !state.isClosed { state.sinks.append(WeakSink(sink: sink)) }
            return others
        }
        holdOrRelease()
    }

    func detach(_ sink: any RealtimeEventSink) {
        _ = state.withLock { $0.remove(sink) }
        holdOrRelease()
    }

    func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) {
        let id = ObjectIdentifier(sink)
        state.withLock { state in
            // One that was detached meanwhile holds nothing.
            if isHeld, state.sinks.contains(where: { $0.id == id }) {
                state.holders.insert(id)
            } else {
                state.holders.remove(id)
            }
        }
        holdOrRelease()
    }

    /// By what holds then: of two changes from two threads the last has the last word.
    private func holdOrRelease() {
        withDriver { [weak self] driver in
            guard let self else { return }
            driver.hold(state.withLock { !$0.holders.isEmpty })
        }
    }
}
