import Basics
import CurlTransport
import Foundation
import JSONBytes
import Logging
import PeerLog
import Realtime
import RelayProtocol

/// Connects the machine of a relay to the NATS servers and the sources.
///
///     source ──► inlet ──► machine: outbox ──► publisher ──► stream
///     bucket ──► watch ──► machine: ownership ──► records, sources
final class RelayCore: Shell {
    typealias M = RelayMachine

    struct State: Sendable {
        var observers: [@Sendable (RelayReport) -> Void] = []
        /// The units that are read here, or about to be.
        var units: [ByteKey: UnitRun] = [:]
        var lastRun = 0
        /// The kept bytes of units that are not ours yet.
        var keptBytes = 0
        /// Reported failures that would otherwise be repeated.
        var told: Set<NATSError> = []
        var reading = Reading.current
        var lastHold = 0
        var finish: CheckedContinuation<Void, Never>?
        var isFinished = false
        var trouble = StoreTrouble()
    }

    /// Whether sources are read.
    enum Reading: Sendable {
        case current
        /// The stream accepts no more messages.
        case held(since: Date)
        /// Sources are read again, but their waiting events have not arrived yet. The number identifies the hold.
        case catchingUp(since: Date, hold: Int)

        /// The time up to which everything has arrived; nil for now.
        var limit: Date? {
            switch self {
            case .current: nil
            case .held(let since), .catchingUp(let since, _): since
            }
        }

        func isCatchingUp(after hold: Int) -> Bool {
            if case .catchingUp(_, hold) = self { true } else { false }
        }
    }

    let options: EventRelayOptions
    let relay: RelayID
    let imprint: RelayImprint
    let sources: [ByteKey: any RelaySource]
    let driver: Driver<M>
    /// Heartbeats and records use a separate connection, so that messages waiting for the stream don't delay them.
    let records: NATSConnection
    let stream: NATSConnection
    let positions: PositionStore
    let lines = UnitLines()
    /// Heartbeats wait for no other calls.
    let beats = BlockingCalls("nats.beats")
    /// Fences are read in parallel with writes.
    let fences = BlockingCalls("nats.fences")
    private let allSources: [any RelaySource]
    private let publisher = Lock<JetStreamPublisher?>(nil)
    private let watch = Lock<RecordWatch?>(nil)
    let state = Lock(State())

    init(_ options: EventRelayOptions, _ sources: [any RelaySource]) {
        var options = options
        let relay = RelayID(name: options.name, random: .random(in: .min ... .max))
        (options.nats.name, options.nats.writesAtOnce) = ("\(relay)", true)
        self.options = options
        self.relay = relay
        imprint = RelayImprint(relay, options)
        allSources = sources
        var owners: [ByteKey: any RelaySource] = [:]
        for source in sources {
            for unit in source.units { owners[unit] = source }
        }
        self.sources = owners
        let units = owners.keys.map(\.string).sorted()
        let loop = NetworkLoop()
        driver = Driver(
            M(options.ownership(relay, units: units), units: units, limits: options.limits, now: loop.now), on: loop)
        records = NATSConnection(options.nats)
        stream = NATSConnection(options.nats)
        positions = PositionStore(stream, bucket: options.bucket)
    }

    /// The time limit at the end for storing and giving back the rest.
    private static let leavingLimit = Duration.seconds(9)

    // MARK: Life cycle

    /// Starts relaying; later failures are retried.
    func start() async throws(NATSError) {
        try await records.connect()
        try await stream.connect()
        for name in [options.stream, "KV_" + options.bucket] where try await stream.streamStatus(name) == nil {
            throw NATSError(.notFound, "there is no stream \(name): set it up first")
        }
        try await stream.requireStream(options.stream, takes: options.prefix)
        records.observe { [weak self] news in
            switch news {
            case .connected: self?.report(.connection(isConnected: true))
            case .disconnected: self?.report(.connection(isConnected: false))
            case .failed(let error): self?.report(.natsFailed(error))
            case .closed: break
            }
        }
        positions.onFailure = { [weak self] error in self?.report(.natsFailed(error)) }
        let publisher = JetStreamPublisher(stream, flight: options.maximumFlight) { [weak self] results in
            self?.published(results)
        }
        self.publisher.withLock { $0 = publisher }
        let watch = RecordWatch(records, stream: "KV_" + options.bucket, filter: "$KV.\(options.bucket).>") {
            [weak self] news in self?.seen(news)
        }
        self.watch.withLock { $0 = watch }
        watch.start()
        call { _, _ in }
    }

    /// Returns when everything is given back, or after a while: a stream that accepts nothing must not keep a program
    /// from ending.
    func leave() async {
        call { machine, now in machine.own(now: now) { $0.leave(now: $1) } }
        let patience = Task { [self] in
            try await Task.sleep(for: Self.leavingLimit)
            let slots = peek { $0.ownership.held.count }
            report(.leftBehind(slots: slots))
            finish()
        }
        defer { patience.cancel() }
        await withCheckedContinuation { continuation in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.finish = continuation }
                return state.isFinished
            }
            if isFinished { continuation.resume() }
        }
    }

    func close() {
        state.withLock { $0.reading = .current }
        let (publisher, watch) = (publisher.withLock { $0 }, watch.withLock { $0 })
        publisher?.close()
        watch?.close()
        records.close()
        stream.close()
        NetworkActor.execute { [self] in closeDriver() }
    }

    // MARK: Incoming events

    /// Publishes items of units that are ours and keeps those of units that are about to be.
    func receive(_ items: [RelayItem]) {
        let own = state.withLock { state in
            items.compactMap { item -> M.Item? in
                guard state.units[item.unit]?.id == item.run, let phase = state.units[item.unit]?.phase else {
                    return nil
                }
                switch phase {
                case .preparing(var kept):
                    state.units[item.unit]?.phase = .running(term: 0)  // so that it is changed in place
                    state.keptBytes -= kept.byteCount
                    kept.add(item, room: options.maximumWaitingBytes / 2 - state.keptBytes - kept.byteCount)
                    state.keptBytes += kept.byteCount
                    state.units[item.unit]?.phase = .preparing(kept)
                    return nil
                case .starting(let term, _), .running(let term):
                    // In place, because a copy would cost as much as all known IDs.
                    if let id = item.id, state.units[item.unit]?.stored.take(id) == true { return nil }
                    return outgoing(item, term)
                }
            }
        }
        guard !own.isEmpty else { return }
        call { machine, now in machine.add(own, now: now) }
    }

    func outgoing(_ item: RelayItem, _ term: Int) -> M.Item {
        M.Item(unit: item.unit, byteCount: item.byteCount, time: item.limit) { [imprint] number in
            item.outgoing(number: number, term: term, imprint)
        }
    }

    func reached(_ position: String, from inlet: RelayInlet) {
        let isOurs = state.withLock { state in
            guard state.units[inlet.unit]?.id == inlet.run, state.units[inlet.unit]?.term != nil else { return false }
            state.units[inlet.unit]?.stored.passPosition()
            return true
        }
        guard isOurs else { return }
        call { machine, now in machine.mark(inlet.unit, position: position, now: now) }
    }

    /// The time up to which everything sent by sources has reached the inlets, allowing one second for the transfer. In
    /// milliseconds since 1970.
    var receivedTime: Int64 {
        let complete = allSources.compactMap { $0.completeTime }.min()?.milliseconds
        return state.withLock { state in
            let time = (state.reading.limit ?? Date()).milliseconds - 1000
            let starting = state.units.values.compactMap { run -> Int64? in
                if case .starting(_, let settled) = run.phase { settled } else { nil }
            }
            return ([time, complete].compactMap(\.self) + starting).min() ?? time
        }
    }

    func report(_ report: RelayReport) {
        for observer in state.withLock({ $0.observers }) { observer(report) }
        options.logger?.report(.info, "\(report)")
    }

    /// Reports an error once, for calls that are retried and fail each time.
    func reportOnce(_ error: NATSError) {
        let isNew = state.withLock { $0.told.count < 100 && $0.told.insert(error).inserted }
        if isNew { report(.natsFailed(error)) }
    }

    // MARK: Actions of the machine

    func carryOut(_ action: M.Action) {
        switch action {
        case .beat(let heartbeat): beat(heartbeat)
        case .write(let write): self.write(write)
        case .readSlot(let slot): read(slot)
        case .readHeartbeat(let relay): read(relay)
        case .readFence(let slot): readFence(slot)
        case .prepare(let unit): prepare(unit)
        case .fence(let slot, let term, let sequence): fence(slot, term, over: sequence)
        case .start(let unit, let slot, let term, let predecessor): start(unit, slot, term, predecessor)
        case .stop(let unit): stop(unit)
        case .finish(let unit): finish(unit)
        case .send(let entries):
            publisher.withLock { $0 }?.publish(entries)
        case .reached(let unit, let term, let position): positions.store(position, of: unit, term: term)
        case .lost(let entry):
            report(.eventLost(unit: entry.unit, channel: nil, reason: "it is larger than the stream takes"))
        case .hold(let isHeld):
            let isFull = peek { $0.outbox.isStreamFull }
            report(.held(isHeld, isStreamFull: isFull))
            hold(isHeld)
        case .report(let report): self.report(RelayReport(report))
        case .finished: finish()
        }
    }

    private func hold(_ isHeld: Bool) {
        let number = state.withLock { state in
            let since = state.reading.limit ?? Date()
            state.lastHold += 1
            state.reading = isHeld ? .held(since: since) : .catchingUp(since: since, hold: state.lastHold)
            return state.lastHold
        }
        for source in allSources { source.hold(isHeld) }
        if !isHeld { Task { await catchUp(after: number) } }
    }

    private static let catchUpInterval = Duration.seconds(1)

    /// Returns when the sources have delivered their waiting events, or are held again.
    private func catchUp(after hold: Int) async {
        for source in allSources {
            while state.withLock({ $0.reading.isCatchingUp(after: hold) }), !(await hasHeardAll(of: source)) {
                try? await Task.sleep(for: Self.catchUpInterval)
            }
        }
        state.withLock { state in
            if state.reading.isCatchingUp(after: hold) { state.reading = .current }
        }
    }

    private func hasHeardAll(of source: any RelaySource) async -> Bool {
        let running = state.withLock { state in state.units.filter { $0.value.term != nil }.map(\.key.string) }
        guard let unit = running.filter({ sources[$0] === source }).randomElement() else { return true }
        return await source.hasHeardAll(of: unit)
    }

    func notStored(_ error: NATSError) {
        guard state.withLock({ $0.trouble.failed(error, now: .now) }) else { return }
        report(error.kind == .permission ? .natsFailed(error) : .notStored(stream: options.stream, error))
    }

    private func finish() {
        let finish = state.withLock { state in
            defer { (state.finish, state.isFinished) = (nil, true) }
            return state.finish
        }
        finish?.resume()
    }

    @NetworkActor
    private func published(_ results: JetStreamPublisher.Results) {
        var isWell = false
        let outcomes = results.map { token, outcome -> (token: UInt64, outcome: PublishOutcome) in
            switch outcome {
            case .stored:
                if !isWell { state.withLock { $0.trouble.stored() } }
                isWell = true
                return (token, .stored)
            case .failed(let error):
                isWell = false
                notStored(error)
                switch error.kind {
                case .tooLarge, .invalidArgument: return (token, .impossible)
                case .streamFull: return (token, .full)
                case .notConnected, .noResponders, .timeout, .unavailable, .unreachable, .authentication, .permission,
                    .tls, .unsupportedServer, .wrongLastSequence, .quotaExceeded, .notFound, .differentSettings, .other:
                    return (token, .failed)
                }
            }
        }
        handle { machine, now in machine.ended(outcomes, now: now) }
    }
}

extension RelayReport {
    fileprivate init(_ report: OwnershipReport) {
        switch report {
        case .lost(let slots, let silence): self = .lost(slots: slots, silence: silence)
        case .taken(let slot, let owner): self = .taken(slot: slot.number, by: owner.map { "\($0)" })
        case .notTaken(let slot, let relay): self = .notTaken(slot: slot.number, by: "\(relay)")
        case .unreadable(let slot): self = .recordUnreadable(slot: slot.number)
        case .forgotten(let slot): self = .recordForgotten(slot: slot.number)
        case .termsExhausted(let slot): self = .termsExhausted(slot: slot.number)
        case .otherUnits(let relay): self = .otherUnits(relay: "\(relay)")
        }
    }
}
