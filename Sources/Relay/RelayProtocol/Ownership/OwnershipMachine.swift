package import Basics
import Realtime

/// Who owns which slots, as one relay sees it: one heartbeat a relay, and one record a slot that is written only to take it
/// or to give it back, conditionally (Documentation/Rules/relay.md, "Ownership records").
///
/// A holder stops by itself when none of its heartbeats was acknowledged for ``Configuration/holderLimit``, counted from
/// when it was sent; others wait for ``Configuration/observerWait``, which is longer by more than clocks can differ. That
/// two own a slot at once is thereby excluded; that what one has sent arrives later is not, so all that is sent carries the
/// term.
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
        package var observerWait = Heartbeat.usualObserverWait
        /// How long nothing is taken at the start: relays that start together see each other first, and share at once.
        package var startPause = Duration.zero
        /// How long a relay that leaves keeps a slot until another one is ready for it.
        package var handOverLimit = Duration.seconds(5)
        /// How long whoever is to have the slot has for that, before everybody else tries.
        var heirLimit: Duration { handOverLimit / 2 }

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
        /// The last fence in the stream is to be told with ``fenceRead(_:_:now:)`` or ``fenceReadFailed(_:now:)``.
        case readFence(Slot)
        /// The slot is to be ours from its fence on, which is written over the last one, of that sequence; zero without
        /// any. To be answered with ``fenceWritten(_:term:_:now:)``.
        case fence(Slot, term: Int, over: UInt64)
        /// Its owner leaves, and we are to take it: its sources start, and what they give is kept. Once they have begun,
        /// ``prepared(_:now:)`` is called. If the slot becomes ours, ``start(_:term:_:)`` comes in the end.
        case prepare(Slot)
        /// Its sources stop: another relay has it, or nothing is known any more.
        case unprepare(Slot)
        /// The slot is ours, and its fence is in the stream: its sources start.
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
        /// The same, and it stopped only after our sources had begun: see ``Action/prepare(_:)``.
        case handedOver(Int64?)

        /// Nil if nothing has to be told of.
        package var limit: Int64? {
            switch self {
            case .nobody: nil
            case .settled(let time), .handedOver(let time): time ?? 0
            }
        }
    }

    /// What one has to do with a slot.
    enum Holding: Hashable, Sendable {
        /// Under way: to take it.
        case taking(SlotWrite, after: Predecessor)
        /// The record is ours. Without its fence the term is nobody's, so nothing is sent.
        case fencing(term: Int, after: Predecessor, FenceStep)
        case held(term: Int)
        case draining(term: Int, heir: SlotRecord.Heir?)
        /// Under way: to give it back.
        case releasing(SlotWrite)
    }

    /// The start of the sources of a slot that is another relay's until it leaves.
    struct Preparation: Sendable {
        /// Of that relay.
        let term: Int
        var isReady = false
    }

    /// What is known of the fences in the stream, for a slot that is to be taken.
    enum FenceRead: Sendable {
        case asked
        /// The term of the last one; zero without any.
        case known(Int)
        case failed(until: MonotonicInstant)
    }

    enum FenceStep: Hashable, Sendable {
        /// The last fence is asked for. If one of the term is known to be in the stream, it is not written again.
        case reading(isKnown: Bool)
        case writing
        case waiting(until: MonotonicInstant)
    }

    /// Looking for what the servers have lost of slots in hand, and for what is not told of others.
    struct Audits: Sendable {
        /// Their records the leader is asked for.
        var asked: Set<Slot> = []
        /// Their last fences are asked for.
        var askedFences: Set<Slot> = []
        /// The leader has not had their records.
        var missed: Set<Slot> = []
        /// The same, twice: they are being written again.
        var lost: Set<Slot> = []
        /// What the leader has in the place of those that are lost.
        var replacements: [Slot: SlotRecord] = [:]
        /// Asked for last, of those in hand and of the others.
        var last: (own: Slot?, other: Slot?)

        /// The record is there, or the slot is in hand no more.
        mutating func forget(_ slot: Slot) {
            missed.remove(slot)
            lost.remove(slot)
            replacements[slot] = nil
        }
    }

    /// A slot on its way to a relay that has fewer.
    struct Move: Sendable {
        enum Step: Sendable {
            /// Heartbeats say it, and the slot flows here until the other one is ready for it.
            case announced(until: MonotonicInstant)
            case givingBack
            /// The other one takes it first.
            case given(until: MonotonicInstant)
        }

        let slot: Slot
        let term: Int
        let heir: RelayID
        var step: Step

        var deadline: MonotonicInstant? {
            switch step {
            case .announced(let until), .given(let until): until
            case .givingBack: nil
            }
        }
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
        /// Since when it is known to leave.
        var leavingSince: MonotonicInstant?
        /// It was told that its units are not ours.
        var isToldApart = false
    }

    /// Relays that are remembered: what strangers write into the bucket must not fill the memory.
    static let maximumRelays = 4096
    /// Writes of records under way.
    static let maximumWrites = 16
    /// Before the leader is asked again for what it could not tell.
    static let readPause = Duration.milliseconds(500)

    package let configuration: Configuration
    package private(set) var incarnation = 1
    /// When the newest heartbeat of this incarnation that was acknowledged had been sent.
    package internal(set) var lastBeat: MonotonicInstant?
    var records: [Slot: (record: SlotRecord, revision: UInt64)] = [:]
    /// Of slots whose records were deleted: the revision of what marks it.
    var deletions: [Slot: UInt64] = [:]
    /// Slots whose records are none: nobody takes them until that is mended.
    var unreadable: Set<Slot> = []
    var fences: [Slot: FenceRead] = [:]
    var holdings: [Slot: Holding] = [:]
    /// Slots whose taking may still arrive: the revision that it is written over, and up to when all of the slot is in the
    /// stream. Heartbeats say no more than that, since whoever takes the slot next goes by them.
    var lateTakings: [Slot: (revision: UInt64, limit: Int64)] = [:]
    /// The last term of each slot that has begun here: none begins twice.
    var begunTerms: [Slot: Int] = [:]
    var preparations: [Slot: Preparation] = [:]
    /// The terms in which a slot was prepared last: never twice, so that whoever hears of it can rely on it.
    var preparedTerms: [Slot: Int] = [:]
    var relays: [RelayID: Sighting] = [:]
    /// Since when nobody has the slot.
    var freeSince: [Slot: MonotonicInstant] = [:]
    var assignment = SlotAssignment()
    var move: Move?
    /// Relays that did not take what was given back for them, and until when they get no more.
    var refusing: [RelayID: MonotonicInstant] = [:]
    /// When slots may be taken; nil before all that is in the bucket was seen.
    var firstTaking: MonotonicInstant?
    /// The newest heartbeat of our own that is in the bucket.
    var ownBeat: Heartbeat?
    /// Of what was lost last.
    private(set) var lostSettled: Int64?
    /// Since when everything is given back.
    var leavingSince: MonotonicInstant?
    var isFinished = false
    var sentBeats: [Int: MonotonicInstant] = [:]
    private(set) var beatNumber = 0
    private var nextBeat: MonotonicInstant
    /// Heartbeats have not said yet what others wait for: of slots that are ready, or on their way.
    var hasNews = false
    /// A heartbeat that was written for such news, and is not acknowledged: the next one waits for it.
    var newsBeat: Int?
    var rereads: [Slot: MonotonicInstant] = [:]
    var audits = Audits()
    /// Writes of our own over no revision: see ``SlotWrite/attempt``.
    var attempts = 0
    private var actions: [Action] = []
    var isDue = false
    private(set) var lastNow: MonotonicInstant

    /// It writes heartbeats from now on, and takes slots after ``readCompleted(now:)``.
    package init(_ configuration: Configuration, now: MonotonicInstant) {
        self.configuration = configuration
        (nextBeat, lastNow) = (now, now)
        timePassed(now: now)
    }

    // MARK: What is owned

    /// Whether something of the slot may be handed to the network: with so much time left that it cannot be carried far
    /// beyond the end of the ownership.
    package func maySend(_ slot: Slot, term: Int, now: MonotonicInstant) -> Bool {
        guard mayBeSent(now: now) else { return false }
        switch holdings[slot] {
        case .held(let own), .draining(let own, _): return own == term
        case .taking, .fencing, .releasing, nil: return false
        }
    }

    /// The same for whatever is owned.
    package func mayBeSent(now: MonotonicInstant) -> Bool {
        lastBeat.map { now - $0 < configuration.holderLimit / 2 } ?? false
    }

    /// The slots whose records are ours, with their terms.
    package var held: [Slot: Int] {
        holdings.compactMapValues {
            switch $0 {
            case .fencing(let term, _, _), .held(let term), .draining(let term, _): term
            case .taking, .releasing: nil
            }
        }
    }

    var isLeaving: Bool { leavingSince != nil }

    // MARK: Time

    package var nextDeadline: MonotonicInstant? {
        guard !isFinished else { return nil }
        // Whatever caught `self` would copy it.
        let (lastNow, configuration) = (lastNow, configuration)
        var silence: MonotonicInstant?
        for relay in relays.values where !relay.isConfirmed && !relay.isBeingRead {
            let end = relay.time + wait(for: relay) + .nanoseconds(1)
            if end > lastNow { silence = min(silence ?? end, end) }
        }
        let fences =
            fences.values.compactMap { if case .failed(let until) = $0 { until } else { nil } }
            + holdings.values.compactMap { if case .fencing(_, _, .waiting(let until)) = $0 { until } else { nil } }
        let lateHeirs = relays.values.lazy.compactMap(\.leavingSince).map { $0 + configuration.heirLimit }
        let free = freeSince.values.lazy.map { $0 + configuration.observerWait + .nanoseconds(1) }
        return [
            nextBeat, lastBeat.map { $0 + configuration.holderLimit + .nanoseconds(1) }, rereads.values.min(),
            firstTaking.flatMap { $0 > lastNow ? $0 : nil }, silence,
            free.filter { $0 > lastNow }.min(), move?.deadline,
            fences.filter { $0 > lastNow }.min(), lateHeirs.filter { $0 > lastNow }.min(),
            leavingSince.map { $0 + configuration.handOverLimit }.flatMap { $0 > lastNow ? $0 : nil },
        ].compactMap(\.self).min()
    }

    package mutating func takeActions() -> [Action] {
        if isDue {
            isDue = false
            handOver()
            takeWhatIsFree(now: lastNow)
        }
        if hasNews, newsBeat == nil {
            beat(lastNow)
            newsBeat = beatNumber
        }
        defer { actions = [] }
        return actions
    }

    package mutating func timePassed(now: MonotonicInstant) {
        advance(now)
        guard !isFinished else { return }
        isDue = true
        if nextBeat <= now {
            beat(now)
            audit()
        }
        for (slot, time) in rereads where time <= now {
            rereads[slot] = nil
            actions.append(.readSlot(slot))
        }
        fenceAgain(now)
    }

    package mutating func networkLost(now: MonotonicInstant) { advance(now) }

    package mutating func networkReturned(now: MonotonicInstant) { timePassed(now: now) }

    /// Nothing is done before it is known whether the time is over.
    mutating func advance(_ now: MonotonicInstant) {
        lastNow = max(lastNow, now)
        guard let lastBeat, lastNow - lastBeat > configuration.holderLimit else { return }
        let lost = held.keys.sorted()
        let limits = holdings.keys.compactMap { settled(of: $0) } + lateTakings.values.map(\.limit)
        lostSettled = limits.min() ?? lostSettled
        for case .taking(let write, let predecessor) in holdings.values { mayArriveLate(write, predecessor) }
        (holdings, fences) = ([:], [:])
        rereads = [:]
        audits = Audits(last: audits.last)
        move = nil
        self.lastBeat = nil
        sentBeats = [:]
        incarnation += 1
        nextBeat = lastNow
        isDue = true
        actions.removeAll { action in
            switch action {
            case .write, .readSlot, .fence, .start, .drain: true
            case .beat(let heartbeat): heartbeat.incarnation < incarnation
            case .readHeartbeat, .readFence, .prepare, .unprepare, .drop, .report, .finished: false
            }
        }
        actions += lost.map { .drop($0) }
        for slot in preparations.keys.sorted() { unprepare(slot) }
        actions.append(.report(.lost(slots: lost.count, silence: lastNow - lastBeat)))
        finishIfEmpty()
    }

    mutating func beat(_ now: MonotonicInstant) {
        (hasNews, newsBeat) = (false, nil)
        beatNumber += 1
        sentBeats[beatNumber] = now
        sentBeats = sentBeats.filter { now - $0.value <= configuration.holderLimit }
        nextBeat = now + configuration.heartbeatInterval
        actions.append(
            .beat(
                Heartbeat(
                    incarnation: incarnation, number: beatNumber, isLeaving: isLeaving, units: configuration.units,
                    settled: limitOfSettled, ready: ready, move: announced, observerWait: configuration.observerWait)))
    }

    mutating func order(_ action: Action) { actions.append(action) }
}
