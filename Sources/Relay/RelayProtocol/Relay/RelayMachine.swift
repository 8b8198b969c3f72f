package import Basics
import Realtime

/// What a relay does: it owns slots, and sends what comes from their units as long as it does.
package struct RelayMachine: Machine {
    package enum Action: Sendable {
        case beat(Heartbeat)
        case write(SlotWrite)
        case readSlot(Slot)
        case readHeartbeat(RelayID)
        case readFence(Slot)
        /// Events of the unit are wanted, and kept until ``start`` or ``stop`` comes. Once it has begun,
        /// ``prepared(unit:now:)`` is called.
        case prepare(unit: String)
        /// See ``OwnershipMachine/Action/fence(_:term:over:)``.
        case fence(Slot, term: Int, over: UInt64)
        /// Events of the unit are wanted, from the position that is stored on.
        case start(unit: String, Slot, term: Int, OwnershipMachine.Predecessor)
        /// No more events of the unit are wanted. What it gives is forgotten.
        case stop(unit: String)
        /// The same, and ``stopped(unit:time:now:)`` is called once none come any more.
        case finish(unit: String)
        /// To be answered with ``ended(_:_:now:)``.
        case send([Outbox.Entry])
        /// All events of the unit before this position are in the stream.
        case reached(unit: String, term: Int, position: String)
        /// An event that never will be in the stream.
        case lost(Outbox.Entry)
        /// Whether sources are to give no more.
        case hold(Bool)
        case report(OwnershipReport)
        case finished
    }

    /// What came from a unit.
    package struct Item {
        package let unit: String
        package let byteCount: Int
        /// When, in milliseconds since 1970.
        package let time: Int64
        /// Makes the message with its number.
        package let message: (Int) -> OutgoingMessage

        package init(unit: String, byteCount: Int, time: Int64, message: @escaping (Int) -> OutgoingMessage) {
            (self.unit, self.byteCount, self.time, self.message) = (unit, byteCount, time, message)
        }
    }

    private enum Phase: Hashable {
        case running
        /// Units that have not stopped yet, when the first one had, and whether all that was sent for those that have had come.
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
    /// Of slots that are another relay's until it leaves, or whose fences are being written: the units that have not begun.
    private var preparations: [Slot: Set<ByteKey>] = [:]
    private var isHolding = false
    private var actions: [Action] = []
    private var lastNow: MonotonicInstant

    /// - Parameter units: All that are to be relayed, by whichever relay.
    package init(
        _ configuration: OwnershipMachine.Configuration, units: [String], limits: Outbox.Limits = .init(),
        now: MonotonicInstant
    ) {
        ownership = OwnershipMachine(configuration, now: now)
        outbox = Outbox(limits)
        self.units = Dictionary(grouping: units) { Slot(of: $0) }
        lastNow = now
    }

    /// The slots in which there are units.
    package static func slots(of units: [String]) -> Set<Slot> { Set(units.map { Slot(of: $0) }) }

    // MARK: Ownership

    /// For what is only about that.
    package mutating func own(
        now: MonotonicInstant, _ change: (inout OwnershipMachine, MonotonicInstant) -> Void
    ) {
        lastNow = max(lastNow, now)
        change(&ownership, now)
    }

    /// Events of the unit come, and are kept.
    package mutating func prepared(unit: String, now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        let slot = Slot(of: unit)
        guard preparations[slot]?.remove(unit) == true, preparations[slot]?.isEmpty == true else { return }
        ownership.prepared(slot, now: now)
    }

    /// No events of the unit come any more.
    ///
    /// - Parameters:
    ///   - time: When that was, in milliseconds since 1970.
    ///   - isWhole: Whether all that was sent for it until then had come.
    package mutating func stopped(unit: String, time: Int64, isWhole: Bool, now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        let slot = Slot(of: unit)
        guard case .finishing(var left, let earlier, let wasWhole) = tenures[slot]?.phase else { return }
        left.remove(unit)
        // What came of any of them before the first one had stopped is there: nothing later can be said.
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

    /// Something came from units. What is not ours to send is forgotten.
    package mutating func add(_ items: some Sequence<Item>, now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        for item in items {
            outbox.add(item.unit, byteCount: item.byteCount, time: item.time) { number, _ in item.message(number) }
        }
    }

    /// All that came from the unit so far lies before this position.
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
        // With little time left, what goes out might arrive when all is somebody else's.
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
            // Of what has stopped nothing more comes, whatever others bring.
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
