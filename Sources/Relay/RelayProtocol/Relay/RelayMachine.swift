package import Basics
import Realtime

/// The logic of a relay: it owns slots, and sends events of their units while it does.
package struct RelayMachine: Machine {
    package enum Action: Sendable {
        case beat(Heartbeat)
        case write(SlotWrite)
        case readSlot(Slot)
        case readHeartbeat(RelayID)
        case readFence(Slot)
        /// Start the unit and keep its events until ``start`` or ``stop`` follows. Call ``prepared(unit:now:)`` once it
        /// has started.
        case prepare(unit: String)
        /// See ``OwnershipMachine/Action/fence(_:term:over:)``.
        case fence(Slot, term: Int, over: UInt64)
        /// Start the unit from its stored position.
        case start(unit: String, Slot, term: Int, OwnershipMachine.Predecessor)
        /// Stop the unit and discard its events.
        case stop(unit: String)
        /// Stop the unit, and call ``stopped(unit:time:isWhole:now:)`` when no more events arrive.
        case finish(unit: String)
        /// Answer with ``ended(_:_:now:)``.
        case send([Outbox.Entry])
        /// All events of the unit before this position are in the stream.
        case reached(unit: String, term: Int, position: String)
        /// The event can never be stored in the stream.
        case lost(Outbox.Entry)
        /// Whether sources must stop delivering.
        case hold(Bool)
        case report(OwnershipReport)
        case finished
    }

    package struct Item {
        package let unit: String
        package let byteCount: Int
        /// The time at which it arrived, in milliseconds since 1970.
        package let time: Int64
        /// Creates the message from its number.
        package let message: (Int) -> OutgoingMessage

        package init(unit: String, byteCount: Int, time: Int64, message: @escaping (Int) -> OutgoingMessage) {
            (self.unit, self.byteCount, self.time, self.message) = (unit, byteCount, time, message)
        }
    }

    private enum Phase: Hashable {
        case running
        /// The units that have not stopped yet, the time at which the first one stopped, and whether everything sent
        /// for stopped units had arrived.
        case finishing(Set<ByteKey>, time: Int64, isWhole: Bool)
    }

    private struct Tenure {
        let term: Int
        var phase = Phase.running
    }

    package private(set) var ownership: OwnershipMachine
    package private(set) var outbox: Outbox
    private let units: [Slot: [String]]
    private var tenures: [Slot: Tenure] = [:]
    /// The units that have not started, for slots that another relay owns until it leaves or whose fences are being
    /// written.
    private var preparations: [Slot: Set<ByteKey>] = [:]
    private var isHolding = false
    private var actions: [Action] = []
    private var lastNow: MonotonicInstant

    /// - Parameter units: All units to relay, by any relay.
    package init(
        _ configuration: OwnershipMachine.Configuration, units: [String], limits: Outbox.Limits = .init(),
        now: MonotonicInstant
    ) {
        ownership = OwnershipMachine(configuration, now: now)
        outbox = Outbox(limits)
        self.units = Dictionary(grouping: units) { Slot(of: $0) }
        lastNow = now
    }

    package static func slots(of units: [String]) -> Set<Slot> { Set(units.map { Slot(of: $0) }) }

    // MARK: Ownership

    /// Passes an event that concerns only ownership.
    package mutating func own(
        now: MonotonicInstant, _ change: (inout OwnershipMachine, MonotonicInstant) -> Void
    ) {
        lastNow = max(lastNow, now)
        change(&ownership, now)
    }

    /// Reports that events of the unit arrive and are kept.
    package mutating func prepared(unit: String, now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        let slot = Slot(of: unit)
        guard preparations[slot]?.remove(unit) == true, preparations[slot]?.isEmpty == true else { return }
        ownership.prepared(slot, now: now)
    }

    /// Reports that no more events of the unit arrive.
    ///
    /// - Parameters:
    ///   - time: The time at which it stopped, in milliseconds since 1970.
    ///   - isWhole: Whether everything sent for it until then had arrived.
    package mutating func stopped(unit: String, time: Int64, isWhole: Bool, now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        let slot = Slot(of: unit)
        guard case .finishing(var left, let earlier, let wasWhole) = tenures[slot]?.phase else { return }
        left.remove(unit)
        // Everything that arrived from any of them before the first one stopped is stored; nothing is known about later
        // times.
        tenures[slot]?.phase = .finishing(left, time: min(earlier, time), isWhole: wasWhole && isWhole)
        drainIfEmpty(slot)
    }

    private mutating func drainIfEmpty(_ slot: Slot) {
        guard case .finishing(let left, let time, let isWhole) = tenures[slot]?.phase, left.isEmpty,
            units[slot]?.allSatisfy({ outbox.isEmpty($0) }) ?? true
        else { return }
        close(slot)
        ownership.drained(slot, settled: time == .max ? nil : time, isWhole: isWhole, now: lastNow)
    }

    private mutating func close(_ slot: Slot) {
        tenures[slot] = nil
        for unit in units[slot] ?? [] { outbox.close(unit) }
    }

    // MARK: Events

    /// Adds items from units. Discards those that are not ours to send.
    package mutating func add(_ items: some Sequence<Item>, now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        for item in items {
            outbox.add(item.unit, byteCount: item.byteCount, time: item.time) { number, _ in item.message(number) }
        }
    }

    /// Records a position that follows everything received from the unit so far.
    package mutating func mark(_ unit: String, position: String, now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        outbox.mark(unit, position: position)
    }

    package mutating func ended(_ results: [(token: UInt64, outcome: PublishOutcome)], now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        for (token, outcome) in results { outbox.ended(token, outcome, now: now) }
        for (slot, tenure) in tenures {
            if case .finishing = tenure.phase { drainIfEmpty(slot) }
        }
    }

    // MARK: Machine

    package var nextDeadline: MonotonicInstant? {
        [ownership.nextDeadline, outbox.nextRetry].compactMap(\.self).min()
    }

    package mutating func takeActions() -> [Action] {
        for action in ownership.takeActions() { take(action) }
        // With little time left, messages might arrive when another relay owns the slots.
        if ownership.mayBeSent(now: lastNow) {
            let entries = outbox.takeNext(now: lastNow)
            if !entries.isEmpty { actions.append(.send(entries)) }
        }
        actions += outbox.takeReached().map { .reached(unit: $0.unit, term: $0.term, position: $0.position) }
        actions += outbox.takeImpossible().map { .lost($0) }
        if outbox.isHolding != isHolding {
            isHolding = outbox.isHolding
            actions.append(.hold(isHolding))
        }
        defer { actions = [] }
        return actions
    }

    private mutating func take(_ action: OwnershipMachine.Action) {
        switch action {
        case .beat(var heartbeat):
            // A stopped unit delivers nothing more, whatever others deliver.
            let stops = tenures.values.compactMap { tenure -> Int64? in
                if case .finishing(_, let time, _) = tenure.phase, time < .max { time } else { nil }
            }
            heartbeat.settled = ([heartbeat.settled, outbox.oldestTime].compactMap(\.self) + stops).min()
            actions.append(.beat(heartbeat))
        case .write(let write): actions.append(.write(write))
        case .readSlot(let slot): actions.append(.readSlot(slot))
        case .readHeartbeat(let relay): actions.append(.readHeartbeat(relay))
        case .readFence(let slot): actions.append(.readFence(slot))
        case .prepare(let slot):
            let own = units[slot] ?? []
            preparations[slot] = Set(texts: own)
            actions += own.map { .prepare(unit: $0) }
        case .unprepare(let slot): unprepare(slot)
        case .fence(let slot, let term, let sequence):
            actions.append(.fence(slot, term: term, over: sequence))
        case .start(let slot, let term, let predecessor):
            tenures[slot] = Tenure(term: term)
            preparations[slot] = nil
            for unit in units[slot] ?? [] {
                outbox.open(unit, in: slot, term: term)
                actions.append(.start(unit: unit, slot, term: term, predecessor))
            }
        case .drain(let slot): drain(slot)
        case .drop(let slot):
            unprepare(slot)
            if case .running = tenures[slot]?.phase {
                actions += (units[slot] ?? []).map { .stop(unit: $0) }
            }
            close(slot)
        case .report(let report): actions.append(.report(report))
        case .finished: actions.append(.finished)
        }
    }

    private mutating func unprepare(_ slot: Slot) {
        guard preparations.removeValue(forKey: slot) != nil else { return }
        actions += (units[slot] ?? []).map { .stop(unit: $0) }
    }

    private mutating func drain(_ slot: Slot) {
        guard case .running = tenures[slot]?.phase else { return }
        let own = units[slot] ?? []
        tenures[slot]?.phase = .finishing(Set(texts: own), time: .max, isWhole: true)
        actions += own.map { .finish(unit: $0) }
        drainIfEmpty(slot)
    }

    package mutating func timePassed(now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        ownership.timePassed(now: now)
    }

    package mutating func networkLost(now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        ownership.networkLost(now: now)
    }

    package mutating func networkReturned(now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        ownership.networkReturned(now: now)
    }
}
