package import Basics
import Realtime

/// The ownership of slots as seen by one relay: one heartbeat per relay, and one record per slot. A record is written,
/// conditionally, only to take the slot or to give it back (Documentation/Rules/relay.md, "Ownership records").
///
/// A holder stops by itself when none of its heartbeats was acknowledged for ``Configuration/holderLimit``, counted
/// from when it was sent. Others wait for ``Configuration/observerWait``, which is longer by more than clocks can
/// differ. This prevents two relays from owning a slot at once. It does not prevent messages from arriving later, so
/// all messages carry the term.
///
/// The clock includes the time that the machine sleeps.
package struct OwnershipMachine: Machine {
    package struct Configuration: Sendable {
        package let relay: RelayID
        /// The slots that contain units.
        package let slots: Set<Slot>
        /// A value that differs between relays with different units; empty to ignore it.
        package var units = ""
        package var heartbeatInterval = Duration.seconds(3)
        /// A server's election takes up to 11 s.
        package var holderLimit = Duration.seconds(15)
        package var observerWait = Heartbeat.usualObserverWait
        /// The time at the start during which nothing is taken, so that relays that start together see each other
        /// first, and share at once.
        package var startPause = Duration.zero
        /// The time for which a leaving relay keeps a slot until another one is ready for it.
        package var handOverLimit = Duration.seconds(5)
        /// The time for the designated relay to get ready, before all others try.
        var heirLimit: Duration { handOverLimit / 2 }

        package init(relay: RelayID, slots: Set<Slot>) {
            (self.relay, self.slots) = (relay, slots)
        }
    }

    package enum Action: Hashable, Sendable {
        /// Answer with ``heartbeatStored(_:now:)`` once it is acknowledged.
        case beat(Heartbeat)
        /// Answer with ``writeEnded(_:_:now:)``.
        case write(SlotWrite)
        /// Report the leader's record with ``slotSeen(_:record:revision:isOfLeader:now:)`` or ``readFailed(_:now:)``.
        case readSlot(Slot)
        /// Report the leader's heartbeat with ``heartbeatRead(_:_:revision:now:)`` or ``heartbeatReadFailed(_:now:)``.
        case readHeartbeat(RelayID)
        /// Report the last fence in the stream with ``fenceRead(_:_:now:)`` or ``fenceReadFailed(_:now:)``.
        case readFence(Slot)
        /// Write the fence from which the slot is ours over the last one, which has that sequence; zero if there is
        /// none. Answer with ``fenceWritten(_:term:_:now:)``.
        case fence(Slot, term: Int, over: UInt64)
        /// Start the slot's sources and keep their events, because its owner is leaving and we are to take it. Call
        /// ``prepared(_:now:)`` once they have started. If the slot becomes ours, ``start(_:term:_:)`` follows.
        case prepare(Slot)
        /// Stop the slot's sources: another relay owns it, or its state is unknown.
        case unprepare(Slot)
        /// Start the slot's sources: it is ours, and its fence is in the stream.
        case start(Slot, term: Int, Predecessor)
        /// Stop the slot's sources. Call ``drained(_:settled:isWhole:now:)`` once everything is acknowledged.
        case drain(Slot)
        /// Send nothing more of the slot, whatever is waiting: it is no longer ours.
        case drop(Slot)
        case report(OwnershipReport)
        /// Everything has been given back.
        case finished
    }

    /// The previous owner of a slot.
    package enum Predecessor: Hashable, Sendable {
        case nobody
        /// Everything that it had received before this time is in the stream, in milliseconds since 1970; nil if
        /// unknown.
        case settled(Int64?)
        /// Like ``settled(_:)``, but it stopped only after our sources had started: see ``Action/prepare(_:)``.
        case handedOver(Int64?)

        /// `nil` if there is nothing to report.
        package var limit: Int64? {
            switch self {
            case .nobody: nil
            case .settled(let time), .handedOver(let time): time ?? 0
            }
        }
    }

    /// The state of a slot in this relay's hands.
    enum Holding: Hashable, Sendable {
        /// The write that takes it is pending.
        case taking(SlotWrite, after: Predecessor)
        /// The record is ours. Nothing is sent, because without its fence the term has no owner.
        case fencing(term: Int, after: Predecessor, FenceStep)
        case held(term: Int)
        case draining(term: Int, heir: SlotRecord.Heir?)
        /// The write that gives it back is pending.
        case releasing(SlotWrite)
    }

    /// The start of the sources of a slot that another relay owns until it leaves.
    struct Preparation: Sendable {
        /// The term of that relay.
        let term: Int
        var isReady = false
    }

    /// The known fences in the stream, for a slot to be taken.
    enum FenceRead: Sendable {
        case asked
        /// The term of the last one; zero if there is none.
        case known(Int)
        case failed(until: MonotonicInstant)
    }

    enum FenceStep: Hashable, Sendable {
        /// The last fence is being read. If one of the term is known to be in the stream, it is not written again.
        case reading(isKnown: Bool)
        case writing
        case waiting(until: MonotonicInstant)
    }

    /// The search for lost records and fences of held slots, and for unreported records of others.
    struct Audits: Sendable {
        /// The slots whose records are being queried.
        var asked: Set<Slot> = []
        /// The slots whose last fences are being queried.
        var askedFences: Set<Slot> = []
        /// The slots whose records the leader did not have.
        var missed: Set<Slot> = []
        /// The slots whose records were missing twice and are being written again.
        var lost: Set<Slot> = []
        /// The leader's records in place of the lost ones.
        var replacements: [Slot: SlotRecord] = [:]
        /// The slots queried last, among the held ones and the others.
        var last: (own: Slot?, other: Slot?)

        /// Called when the record exists, or the slot is no longer held.
        mutating func forget(_ slot: Slot) {
            missed.remove(slot)
            lost.remove(slot)
            replacements[slot] = nil
        }
    }

    /// A slot that is moving to a relay with fewer.
    struct Move: Sendable {
        enum Step: Sendable {
            /// Announced in heartbeats. The slot flows here until the other relay is ready for it.
            case announced(until: MonotonicInstant)
            case givingBack
            /// The other relay may take it first.
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
        var heartbeat: Heartbeat
        /// The number and revision of the heartbeat seen last.
        var number: Int
        var revision: UInt64
        /// The time at which the newest heartbeat was first seen.
        var time: MonotonicInstant
        /// The time at which the relay was first seen.
        let first: MonotonicInstant
        /// Whether the leader has no newer heartbeat although it should: see ``OwnershipMachine/isSilent(_:_:)``.
        var isConfirmed = false
        var isBeingRead = false
        /// The time since which it is known to be leaving.
        var leavingSince: MonotonicInstant?
        /// Whether its different units were reported.
        var isToldApart = false
    }

    /// The maximum number of remembered relays, so that writes of strangers to the bucket cannot exhaust memory.
    static let maximumRelays = 4096
    static let maximumWrites = 16
    /// The pause before repeating a failed query to the leader.
    static let readPause = Duration.milliseconds(500)

    package let configuration: Configuration
    package private(set) var incarnation = 1
    /// The time at which the newest acknowledged heartbeat of this incarnation was sent.
    package internal(set) var lastBeat: MonotonicInstant?
    var records: [Slot: (record: SlotRecord, revision: UInt64)] = [:]
    /// The revisions of deletion markers, for slots whose records were deleted.
    var deletions: [Slot: UInt64] = [:]
    /// The slots with invalid records, which no relay takes until they are repaired.
    var unreadable: Set<Slot> = []
    var fences: [Slot: FenceRead] = [:]
    var holdings: [Slot: Holding] = [:]
    /// The slots whose taking may still arrive: the revision that it overwrites, and the time up to which everything of
    /// the slot is in the stream. Heartbeats report no later time, since the next owner of the slot relies on them.
    var lateTakings: [Slot: (revision: UInt64, limit: Int64)] = [:]
    /// The last term of each slot that started here. No term starts twice.
    var begunTerms: [Slot: Int] = [:]
    var preparations: [Slot: Preparation] = [:]
    /// The terms in which slots were last prepared. None is prepared twice, so that others can rely on the
    /// announcement.
    var preparedTerms: [Slot: Int] = [:]
    var relays: [RelayID: Sighting] = [:]
    /// The time since which a slot has no owner.
    var freeSince: [Slot: MonotonicInstant] = [:]
    var assignment = SlotAssignment()
    var move: Move?
    /// The relays that did not take what was given back for them, and the time until which they get no more.
    var refusing: [RelayID: MonotonicInstant] = [:]
    /// The time from which slots may be taken; nil until everything in the bucket was seen.
    var firstTaking: MonotonicInstant?
    /// Our own newest heartbeat in the bucket.
    var ownBeat: Heartbeat?
    /// The settled time of what was lost last.
    private(set) var lostSettled: Int64?
    /// The time at which this relay started to leave.
    var leavingSince: MonotonicInstant?
    var isFinished = false
    var sentBeats: [Int: MonotonicInstant] = [:]
    private(set) var beatNumber = 0
    private var nextBeat: MonotonicInstant
    /// Whether heartbeats have not yet reported something that others wait for: slots that are ready or moving.
    var hasNews = false
    /// The pending heartbeat with such news, for which the next one waits.
    var newsBeat: Int?
    var rereads: [Slot: MonotonicInstant] = [:]
    var audits = Audits()
    /// The number of our writes without a revision: see ``SlotWrite/attempt``.
    var attempts = 0
    private var actions: [Action] = []
    var isDue = false
    private(set) var lastNow: MonotonicInstant

    /// Creates a machine that writes heartbeats at once, and takes slots after ``readCompleted(now:)``.
    package init(_ configuration: Configuration, now: MonotonicInstant) {
        self.configuration = configuration
        (nextBeat, lastNow) = (now, now)
        timePassed(now: now)
    }

    // MARK: Owned slots

    /// Whether data of the slot may be passed to the network: enough time must be left that it cannot arrive long after
    /// the end of the ownership.
    package func maySend(_ slot: Slot, term: Int, now: MonotonicInstant) -> Bool {
        guard mayBeSent(now: now) else { return false }
        switch holdings[slot] {
        case .held(let own), .draining(let own, _): return own == term
        case .taking, .fencing, .releasing, nil: return false
        }
    }

    /// Like ``maySend(_:term:now:)``, but for any owned slot.
    package func mayBeSent(now: MonotonicInstant) -> Bool {
        lastBeat.map { now - $0 < configuration.holderLimit / 2 } ?? false
    }

    /// The slots with our records, and their terms.
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
        // A closure that captures `self` would copy it.
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

    /// Nothing else happens before checking whether the time is over.
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
