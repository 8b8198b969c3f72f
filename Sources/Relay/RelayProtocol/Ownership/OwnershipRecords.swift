import Basics
package import JSONBytes

/// What a relay writes again and again to show that it lives: the key `h.<relay>`.
package struct Heartbeat: Hashable, Sendable {
    /// Counts, from one, how often the process has lost what it had. It only grows.
    package var incarnation: Int
    /// Counts heartbeats.
    package var number: Int
    /// It gives back what it has, and takes nothing.
    package var isLeaving = false
    /// Of the units that it is to relay: all should have the same. Empty if that is not known.
    package var units = ""
    /// All that it had received before then is in the stream. Milliseconds since 1970, on its clock.
    package var settled: Int64?
    /// Slots of relays that leave or move them, for which its sources have begun, with the terms in which those own them.
    package var ready: [Slot: Int] = [:]
    /// What it is about to give to another relay, once that is ready for it.
    package var move: Move?
    /// How long it may be silent before it has surely given up what it has, an hour at most.
    package var observerWait: Duration

    package struct Move: Hashable, Sendable {
        package let slot: Slot
        /// In which it has the slot.
        package let term: Int
        package let heir: RelayID

        package init(slot: Slot, term: Int, heir: RelayID) {
            (self.slot, self.term, self.heir) = (slot, term, heir)
        }
    }

    package static let usualObserverWait = Duration.seconds(20)

    private static let maximumWait = 3_600_000

    package init(
        incarnation: Int, number: Int, isLeaving: Bool = false, units: String = "", settled: Int64? = nil,
        ready: [Slot: Int] = [:], move: Move? = nil, observerWait: Duration = Self.usualObserverWait
    ) {
        (self.incarnation, self.number, self.isLeaving) = (incarnation, number, isLeaving)
        (self.units, self.settled, self.ready, self.move) = (units, settled, ready, move)
        self.observerWait = observerWait
    }

    package init?(_ json: JSONView) {
        guard let incarnation = json["inc"]?.int, let number = json["n"]?.int else { return nil }
        self.init(
            incarnation: incarnation, number: number, isLeaving: json["leaving"]?.bool ?? false,
            units: String((json["units"]?.string ?? "").prefix(64)), settled: json["settled"]?.int.map { Int64($0) },
            observerWait: json["wait"]?.int.map { .milliseconds(min(max($0, 0), Self.maximumWait)) }
                ?? Self.usualObserverWait)
        for (key, value) in json["ready"]?.members ?? [] {
            guard let slot = Int(key).flatMap({ Slot($0) }), let term = value.int else { continue }
            ready[slot] = term
        }
        if let slot = json["move"]?["slot"]?.int.flatMap({ Slot($0) }),
            let term = json["move"]?["term"]?.int, let heir = json["move"]?["to"]?.string.flatMap({ RelayID($0) })
        {
            move = Move(slot: slot, term: term, heir: heir)
        }
    }

    package var json: JSONView {
        var writer = JSONWriter()
        writer.add("inc", json: "\(incarnation)")
        writer.add("n", json: "\(number)")
        if isLeaving { writer.add("leaving", json: "true") }
        if !units.isEmpty { writer.add("units", units) }
        if let settled { writer.add("settled", json: "\(settled)") }
        if observerWait != Self.usualObserverWait {
            writer.add("wait", json: "\(observerWait.wholeNanoseconds / 1_000_000)")
        }
        if !ready.isEmpty {
            var slots = JSONWriter()
            for (slot, term) in ready.sorted(by: { $0.key < $1.key }) { slots.add("\(slot)", json: "\(term)") }
            writer.add("ready", slots)
        }
        if let move {
            var object = JSONWriter()
            object.add("slot", json: "\(move.slot)")
            object.add("term", json: "\(move.term)")
            object.add("to", move.heir.description)
            writer.add("move", object)
        }
        return writer.view
    }
}

/// Who owns a slot: the key `s.<slot>`. Written only to take it or to give it back, and only over the revision that the
/// writer knows.
package struct SlotRecord: Hashable, Sendable {
    /// Whom a slot is given back for.
    package enum Heir: Hashable, Sendable {
        /// The one that is to have it.
        case chosen(RelayID)
        /// One whose sources had begun before the owner's stopped.
        case ready(RelayID)

        package var relay: RelayID {
            switch self {
            case .chosen(let relay), .ready(let relay): relay
            }
        }
    }

    /// Nobody, if nil.
    package var owner: RelayID?
    /// Of the owner, or of the last one.
    package var incarnation: Int
    /// Grows with each taking, to one more than that of the last record and that of the last fence. Each has one owner.
    package var term: Int
    /// It is that relay's to take.
    package var heir: Heir?
    /// Of what was given back, or was there when the owner took it: see ``Heartbeat/settled``.
    package var settled: Int64?
    /// The newest heartbeat of the owner that says nothing of this slot: it came before the taking.
    package var beat: Int

    /// What strangers write as a term must not be too large to be counted on.
    static let terms = 0...(1 << 53)

    package init(
        owner: RelayID?, incarnation: Int, term: Int, heir: Heir? = nil, settled: Int64? = nil, beat: Int = 0
    ) {
        (self.owner, self.incarnation, self.term) = (owner, incarnation, term)
        (self.heir, self.settled, self.beat) = (heir, settled, beat)
    }

    package init?(_ json: JSONView) {
        guard let owner = json["owner"]?.string, let incarnation = json["inc"]?.int, let term = json["term"]?.int,
            Self.terms.contains(term)
        else { return nil }
        let id = RelayID(owner)
        guard id != nil || owner.isEmpty else { return nil }
        let heir = (json["for"]?.string).flatMap { RelayID($0) }
        let isReady = json["ready"]?.bool ?? false
        self.init(
            owner: id, incarnation: incarnation, term: term, heir: heir.map { isReady ? .ready($0) : .chosen($0) },
            settled: json["settled"]?.int.map { Int64($0) }, beat: json["n"]?.int ?? 0)
    }

    package var json: JSONView {
        var writer = JSONWriter()
        writer.add("owner", owner?.description ?? "")
        writer.add("inc", json: "\(incarnation)")
        writer.add("term", json: "\(term)")
        if let heir { writer.add("for", heir.relay.description) }
        if case .ready = heir { writer.add("ready", json: "true") }
        if let settled { writer.add("settled", json: "\(settled)") }
        if beat > 0 { writer.add("n", json: "\(beat)") }
        return writer.view
    }
}

extension SlotRecord {
    /// Whether it was written after another record of the slot: terms grow, and a term ends when its slot is given back.
    /// Revisions do not tell: they can fall when another server leads.
    func follows(_ other: SlotRecord) -> Bool {
        term > other.term || term == other.term && owner == nil && other.owner != nil
    }

    /// Whether both have one term: the bucket has lost a record that it had acknowledged. The one that the leader has
    /// counts, but for the relay that has the fence of the term.
    func isRival(of other: SlotRecord) -> Bool {
        guard let owner, let rival = other.owner else { return false }
        return term == other.term && owner != rival
    }
}

/// A write of a slot's record over the revision that the writer knows (Documentation/Rules/relay.md, "Conditional writes").
///
/// Servers before 2.9.21 let two such writes win at once. The same message id for the same slot and revision keeps the
/// second from being stored. For a while, servers still know the ids of a bucket that was purged: without a revision, the
/// term and the attempt tell writes apart.
package struct SlotWrite: Hashable, Sendable {
    package let slot: Slot
    package let record: SlotRecord
    /// Zero if there is no record.
    package let revision: UInt64
    /// Tells an owner's writes without a revision apart: what it writes again, and what it gives back. Nil for a taking: of
    /// those that take one term, one is stored.
    package let attempt: Int?

    package init(slot: Slot, record: SlotRecord, revision: UInt64, attempt: Int? = nil) {
        (self.slot, self.record, self.revision, self.attempt) = (slot, record, revision, attempt)
    }

    package var messageID: String {
        guard revision == 0 else { return "s.\(slot)@\(revision)" }
        return "s.\(slot)@0.\(record.term)" + (attempt.map { ".\($0)" } ?? "")
    }
}

/// What has come of a ``SlotWrite``.
package enum SlotWriteOutcome: Hashable, Sendable {
    /// Stored, and not as a duplicate, with this revision.
    case stored(revision: UInt64)
    /// Another write was there before.
    case refused
    /// A duplicate, a time-out, a lost connection: what is stored now must be read.
    case unknown
}
