package import Basics
import Realtime

/// Who owns which slots, as one relay sees it: one heartbeat a relay, and one record a slot that is written only to take it or
/// to give it back, conditionally (reference 4.2 to 4.4).
///
/// A holder stops by itself when none of its heartbeats was acknowledged for ``Configuration/holderLimit``, counted from when
/// it was sent; others wait for ``Configuration/observerWait``, which is longer by more than clocks can differ. That two own a
/// slot at once is thereby excluded; that what one has sent arrives later is not, so all that is sent carries the term.
///
/// The clock goes on while the machine sleeps.
package struct OwnershipMachine: Machine {
    package struct Configuration: Sendable {
        package let relay: RelayID
        /// Those that have units.
        package let slots: Set<Slot>
        /// Tells apart relays with other units; empty if that does not matter.
        package var units = ""
        package var heartbeatInterval = Duration.seconds(3)
        /// An election of a server takes up to 11 s.
        package var holderLimit = Duration.seconds(15)
        package var observerWait = Duration.seconds(20)

        package init(relay: RelayID, slots: Set<Slot>) {
            (self.relay, self.slots) = (relay, slots)
        }
    }

    package enum Action: Hashable, Sendable {
        /// To be answered with ``heartbeatStored(_:now:)`` once it is acknowledged.
        case beat(Heartbeat)
        /// To be answered with ``writeEnded(_:_:now:)``.
        case write(SlotWrite)
        /// What the leader has is to be told with ``slotSeen(_:record:revision:isOfLeader:now:)`` or ``readFailed(_:now:)``.
        case readSlot(Slot)
        /// What the leader has is to be told with ``heartbeatRead(_:_:revision:now:)`` or ``heartbeatReadFailed(_:)``.
        case readHeartbeat(RelayID)
        /// The slot is ours: its fence is written, and its sources start.
        case start(Slot, term: Int, Predecessor)
        /// Its sources stop; once all is acknowledged, ``drained(_:settled:now:)`` is called.
        case drain(Slot)
        /// It is ours no more: nothing of it is sent, whatever waits.
        case drop(Slot)
        case report(OwnershipReport)
        /// All is given back.
        case finished
    }

    /// Who had a slot before.
    package enum Predecessor: Hashable, Sendable {
        case nobody
        /// All that it had received before then is in the stream, in milliseconds since 1970; nil if that is not known.
        case settled(Int64?)

        /// Nil if nothing has to be told of.
        var limit: Int64? {
            switch self {
            case .nobody: nil
            case .settled(let time): time ?? 0
            }
        }
    }

    /// What one has to do with a slot.
    enum Holding: Hashable, Sendable {
        /// Under way: to take it.
        case taking(SlotWrite, after: Predecessor)
        case held(term: Int)
        case draining(term: Int, heir: RelayID?)
        /// Under way: to give it back.
        case releasing(SlotWrite)
    }

    struct Sighting: Sendable {
        /// The newest.
        var heartbeat: Heartbeat
        /// Of the one that was seen last, and its revision.
        var number: Int
        var revision: UInt64
        /// When the heartbeat that is the newest was seen first.
        var time: MonotonicInstant
        /// When the relay was seen first.
        let first: MonotonicInstant
        /// The leader has no newer one, though it should: see ``OwnershipMachine/isSilent(_:_:)``.
        var isConfirmed = false
        var isBeingRead = false
    }

    /// Relays that are remembered: what strangers write into the bucket must not fill the memory.
    static let maximumRelays = 4096
    /// Writes of records under way.
    static let maximumWrites = 16
    /// Before the leader is asked again for what it could not tell.
    private static let readPause = Duration.milliseconds(500)

    package let configuration: Configuration
    package private(set) var incarnation = 1
    /// When the newest heartbeat of this incarnation that was acknowledged had been sent.
    package private(set) var lastBeat: MonotonicInstant?
    var records: [Slot: (record: SlotRecord, revision: UInt64)] = [:]
    var holdings: [Slot: Holding] = [:]
    var relays: [RelayID: Sighting] = [:]
    /// Since when nobody has the slot.
    var freeSince: [Slot: MonotonicInstant] = [:]
    var assignment = SlotAssignment()
    /// A slot that was given back for another relay, which is to take it first.
    var move: (slot: Slot, heir: RelayID, end: MonotonicInstant?)?
    /// Relays that did not take what was given back for them, and until when they get no more.
    var refusing: [RelayID: MonotonicInstant] = [:]
    var isComplete = false
    /// The newest heartbeat of our own that is in the bucket.
    private(set) var ownBeat: Heartbeat?
    /// Of what was lost last.
    private(set) var lostSettled: Int64?
    private(set) var isLeaving = false
    private var isFinished = false
    private var sentBeats: [Int: MonotonicInstant] = [:]
    private(set) var beatNumber = 0
    private var nextBeat: MonotonicInstant
    private var rereads: [Slot: MonotonicInstant] = [:]
    private var actions: [Action] = []
    private var isDue = false
    private var lastNow: MonotonicInstant

    /// It writes heartbeats from now on, and takes slots after ``readCompleted(now:)``.
    package init(_ configuration: Configuration, now: MonotonicInstant) {
        self.configuration = configuration
        (nextBeat, lastNow) = (now, now)
        timePassed(now: now)
    }

    // MARK: What is owned

    /// Whether something of the slot may be handed to the network: with so much time left that it cannot be carried far beyond
    /// the end of the ownership.
    package func maySend(_ slot: Slot, term: Int, now: MonotonicInstant) -> Bool {
        guard mayBeSent(now: now) else { return false }
        switch holdings[slot] {
        case .held(let own), .draining(let own, _): return own == term
        case .taking, .releasing, nil: return false
        }
    }

    /// The same for whatever is owned.
    package func mayBeSent(now: MonotonicInstant) -> Bool {
        lastBeat.map { now - $0 < configuration.holderLimit / 2 } ?? false
    }

    /// The slots that are owned, with their terms.
    package var held: [Slot: Int] {
        holdings.compactMapValues {
            switch $0 {
            case .held(let term), .draining(let term, _): term
            case .taking, .releasing: nil
            }
        }
    }

    // MARK: What was seen

    /// A heartbeat in the bucket. The same one again changes nothing.
    package mutating func heartbeatSeen(
        _ relay: RelayID, _ heartbeat: Heartbeat, revision: UInt64, now: MonotonicInstant
    ) {
        advance(now)
        guard relay != configuration.relay else {
            if heartbeat.number > ownBeat?.number ?? 0 { ownBeat = heartbeat }
            return
        }
        if let known = relays[relay] {
            // Whatever differs is a sign of life: revisions can fall when another server leads (seen on 2.9.10), and a heartbeat
            // that comes late stands in the place of a newer one.
            guard revision != known.revision || heartbeat.number != known.number else { return }
            let newest = heartbeat.number > known.heartbeat.number ? heartbeat : known.heartbeat
            relays[relay] = Sighting(
                heartbeat: newest, number: heartbeat.number, revision: revision, time: now, first: known.first)
        } else if relays.count < Self.maximumRelays {
            relays[relay] = Sighting(
                heartbeat: heartbeat, number: heartbeat.number, revision: revision, time: now, first: now)
        }
        isDue = true
    }

    /// What the leader has of a relay that has been silent.
    package mutating func heartbeatRead(
        _ relay: RelayID, _ heartbeat: Heartbeat?, revision: UInt64, now: MonotonicInstant
    ) {
        if let heartbeat { heartbeatSeen(relay, heartbeat, revision: revision, now: now) }
        advance(now)
        guard relays[relay]?.isBeingRead == true else { return }
        relays[relay]?.isBeingRead = false
        relays[relay]?.isConfirmed = true
        isDue = true
    }

    /// The leader could not be asked: it is asked again.
    package mutating func heartbeatReadFailed(_ relay: RelayID, now: MonotonicInstant) {
        advance(now)
        relays[relay]?.isBeingRead = false
    }

    /// The record of a slot, as seen or read; nil if there is none. Older ones than those that were seen before change nothing.
    ///
    /// - Parameter isOfLeader: Whether the leader has said so: what is written next is written over that.
    package mutating func slotSeen(
        _ slot: Slot, record: SlotRecord?, revision: UInt64, isOfLeader: Bool = false, now: MonotonicInstant
    ) {
        advance(now)
        rereads[slot] = nil
        isDue = true
        if isOfLeader { records[slot]?.revision = revision }
        if let record, records[slot].map({ record.follows($0.record) }) ?? true {
            records[slot] = (record, revision)
            if let owner = record.owner, owner != configuration.relay, relays[owner] == nil,
                relays.count < Self.maximumRelays
            {
                let unseen = Heartbeat(incarnation: 0, number: 0)
                relays[owner] = Sighting(heartbeat: unseen, number: 0, revision: 0, time: now, first: now)
            }
        }
        settle(slot)
    }

    /// The leader could not be asked: it is asked again a little later.
    package mutating func readFailed(_ slot: Slot, now: MonotonicInstant) {
        advance(now)
        if holdings[slot] != nil { rereads[slot] = now + Self.readPause }
    }

    /// All that is in the bucket was seen once.
    package mutating func readCompleted(now: MonotonicInstant) {
        advance(now)
        isComplete = true
        isDue = true
    }

    /// What the newest record says of a slot in hand.
    private mutating func settle(_ slot: Slot) {
        let newest = records[slot]
        let isOurs = newest.map { self.isOurs($0.record) } ?? false
        switch holdings[slot] {
        case nil:
            // A write that was thought to have failed has arrived after all: the term is nobody else's.
            if isOurs, let newest { hold(slot, newest.record.term, after: .settled(nil)) }
        case .taking(let write, let predecessor):
            if newest?.record == write.record {
                hold(slot, write.record.term, after: predecessor)
            } else {
                holdings[slot] = nil
            }
        case .held(let term), .draining(let term, _):
            if !isOurs || newest?.record.term != term { lose(slot, to: newest?.record.owner) }
        case .releasing(let write):
            if isOurs, let newest {
                // It has not arrived.
                let again = SlotWrite(slot: slot, record: write.record, revision: newest.revision)
                holdings[slot] = .releasing(again)
                actions.append(.write(again))
            } else {
                released(slot)
            }
        }
    }

    private func isOurs(_ record: SlotRecord) -> Bool {
        record.owner == configuration.relay && record.incarnation == incarnation
    }

    private mutating func hold(_ slot: Slot, _ term: Int, after predecessor: Predecessor) {
        holdings[slot] = .held(term: term)
        freeSince[slot] = nil
        actions.append(.start(slot, term: term, predecessor))
        if isLeaving { drain(slot, heir: nil) }
    }

    private mutating func lose(_ slot: Slot, to owner: RelayID?) {
        holdings[slot] = nil
        if move?.slot == slot { move = nil }
        actions += [.drop(slot), .report(.taken(slot, by: owner))]
        finishIfEmpty()
    }

    // MARK: What was written

    /// A heartbeat was acknowledged.
    package mutating func heartbeatStored(_ heartbeat: Heartbeat, now: MonotonicInstant) {
        if heartbeat.incarnation == incarnation, let sentAt = sentBeats.removeValue(forKey: heartbeat.number) {
            lastBeat = max(lastBeat ?? sentAt, sentAt)
        }
        advance(now)
        isDue = true
    }

    package mutating func writeEnded(_ write: SlotWrite, _ outcome: SlotWriteOutcome, now: MonotonicInstant) {
        advance(now)
        isDue = true
        switch outcome {
        case .stored(let revision):
            slotSeen(write.slot, record: write.record, revision: revision, isOfLeader: true, now: now)
        case .refused, .unknown:
            switch holdings[write.slot] {
            case .taking(let own, _) where own == write: actions.append(.readSlot(write.slot))
            case .releasing(write): actions.append(.readSlot(write.slot))
            case .taking, .releasing, .held, .draining, nil: break
            }
        }
    }

    // MARK: Giving back

    /// Everything is given back, and nothing is taken any more.
    package mutating func leave(now: MonotonicInstant) {
        advance(now)
        guard !isLeaving else { return }
        isLeaving = true
        beat(now)
        for slot in held.keys.sorted() { drain(slot, heir: nil) }
        finishIfEmpty()
    }

    /// All that was sent of a slot is acknowledged, and nothing more is sent.
    ///
    /// - Parameter settled: When its sources had stopped, in milliseconds since 1970.
    package mutating func drained(_ slot: Slot, settled: Int64? = nil, now: MonotonicInstant) {
        advance(now)
        guard case .draining(let term, let heir) = holdings[slot], let revision = records[slot]?.revision else {
            return
        }
        let record = SlotRecord(owner: nil, incarnation: incarnation, term: term, heir: heir, settled: settled)
        let write = SlotWrite(slot: slot, record: record, revision: revision)
        holdings[slot] = .releasing(write)
        actions.append(.write(write))
    }

    mutating func drain(_ slot: Slot, heir: RelayID?) {
        guard case .held(let term) = holdings[slot] else { return }
        holdings[slot] = .draining(term: term, heir: heir)
        actions.append(.drain(slot))
    }

    private mutating func released(_ slot: Slot) {
        holdings[slot] = nil
        if move?.slot == slot { move?.end = lastNow + configuration.observerWait }
        finishIfEmpty()
    }

    private mutating func finishIfEmpty() {
        guard isLeaving, !isFinished, holdings.isEmpty else { return }
        isFinished = true
        actions.append(.finished)
    }

    // MARK: Time

    package var nextDeadline: MonotonicInstant? {
        guard !isFinished else { return nil }
        let silence = relays.values.lazy.filter { !$0.isConfirmed && !$0.isBeingRead }.map {
            $0.time + configuration.observerWait + .nanoseconds(1)
        }
        let free = freeSince.values.lazy.map { $0 + configuration.observerWait + .nanoseconds(1) }
        return [
            nextBeat, lastBeat.map { $0 + configuration.holderLimit + .nanoseconds(1) }, rereads.values.min(),
            silence.filter { $0 > lastNow }.min(), free.filter { $0 > lastNow }.min(), move?.end,
        ].compactMap(\.self).min()
    }

    package mutating func takeActions() -> [Action] {
        if isDue {
            isDue = false
            takeWhatIsFree(now: lastNow)
        }
        defer { actions = [] }
        return actions
    }

    package mutating func timePassed(now: MonotonicInstant) {
        advance(now)
        guard !isFinished else { return }
        isDue = true
        if nextBeat <= now { beat(now) }
        for (slot, time) in rereads where time <= now {
            rereads[slot] = nil
            actions.append(.readSlot(slot))
        }
    }

    package mutating func networkLost(now: MonotonicInstant) { advance(now) }

    package mutating func networkReturned(now: MonotonicInstant) { timePassed(now: now) }

    /// Nothing is done before it is known whether the time is over.
    private mutating func advance(_ now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        guard let lastBeat, lastNow - lastBeat > configuration.holderLimit else { return }
        let lost = held.keys.sorted()
        lostSettled = holdings.keys.compactMap { settled(of: $0) }.min() ?? lostSettled
        holdings = [:]
        rereads = [:]
        move = nil
        self.lastBeat = nil
        sentBeats = [:]
        incarnation += 1
        nextBeat = lastNow
        isDue = true
        actions.removeAll { action in
            switch action {
            case .write, .readSlot, .start, .drain: true
            case .beat(let heartbeat): heartbeat.incarnation < incarnation
            case .readHeartbeat, .drop, .report, .finished: false
            }
        }
        actions += lost.map { .drop($0) }
        actions.append(.report(.lost(slots: lost.count, silence: lastNow - lastBeat)))
        finishIfEmpty()
    }

    private mutating func beat(_ now: MonotonicInstant) {
        beatNumber += 1
        sentBeats[beatNumber] = now
        sentBeats = sentBeats.filter { now - $0.value <= configuration.holderLimit }
        nextBeat = now + configuration.heartbeatInterval
        actions.append(
            .beat(
                Heartbeat(
                    incarnation: incarnation, number: beatNumber, isLeaving: isLeaving, units: configuration.units,
                    settled: limitOfSettled)))
    }

    mutating func order(_ action: Action) { actions.append(action) }
}
