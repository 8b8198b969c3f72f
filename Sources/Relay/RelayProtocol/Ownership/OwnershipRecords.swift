import Basics
package import JSONBytes

/// A sign of life that a relay writes regularly, under the key `h.<relay>`.
package struct Heartbeat: Hashable, Sendable {
    /// The number of times, counted from one, that the process lost what it had. It never decreases.
    package var incarnation: Int
    package var number: Int
    /// Whether it is giving back what it has and takes nothing.
    package var isLeaving = false
    /// A digest of the units to relay, which should be the same for all; empty if unknown.
    package var units = ""
    /// The time up to which everything that it received is in the stream. In milliseconds since 1970, on its clock.
    package var settled: Int64?
    /// The slots of leaving or moving owners for which its sources have started, with the terms of those owners.
    package var ready: [Slot: Int] = [:]
    /// The slot that it will give to another relay once that is ready.
    package var move: Move?
    /// The duration of silence after which it has certainly given up what it has; at most an hour.
    package var observerWait: Duration

    package struct Move: Hashable, Sendable {
        package let slot: Slot
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

/// The owner of a slot, under the key `s.<slot>`. Written only to take it or to give it back, and only over the
/// revision that the writer knows.
package struct SlotRecord: Hashable, Sendable {
    /// The relay for which a slot is given back.
    package enum Heir: Hashable, Sendable {
        /// The relay that should have it.
        case chosen(RelayID)
        /// A relay whose sources had started before the owner's stopped.
        case ready(RelayID)

        package var relay: RelayID {
            switch self {
            case .chosen(let relay), .ready(let relay): relay
            }
        }
    }

    /// The owner; nil if there is none.
    package var owner: RelayID?
    /// The incarnation of the owner, or of the last one.
    package var incarnation: Int
    /// Grows with each taking, to one more than the maximum of the last record and the last fence. Each term has one
    /// owner.
    package var term: Int
    /// The relay that should take it.
    package var heir: Heir?
    /// The settled time of what was given back, or of what existed when the owner took it: see ``Heartbeat/settled``.
    package var settled: Int64?
    /// The number of the owner's newest heartbeat from before the taking, which does not cover this slot.
    package var beat: Int

    /// The valid terms. A term written by a stranger must not be too large to be incremented.
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
    /// Whether it was written after another record of the slot: terms grow, and a term ends when its slot is given
    /// back. Revisions can't show this, since they can decrease when another server leads.
    func follows(_ other: SlotRecord) -> Bool {
        term > other.term || term == other.term && owner == nil && other.owner != nil
    }

    /// Whether both have the same term, because the bucket has lost a record that it had acknowledged. The leader's
    /// record applies, except for the relay that has the fence of the term.
    func isRival(of other: SlotRecord) -> Bool {
        guard let owner, let rival = other.owner else { return false }
        return term == other.term && owner != rival
    }
}

/// A write of a slot's record over the revision that the writer knows (Documentation/Rules/relay.md, "Conditional
/// writes").
///
/// Servers before 2.9.21 let two such writes win at once. Using the same message ID for the same slot and revision
/// keeps the second one from being stored. After a purge of the bucket, servers remember its IDs for a while. Without a
/// revision, the term and the attempt therefore distinguish writes.
package struct SlotWrite: Hashable, Sendable {
    package let slot: Slot
    package let record: SlotRecord
    /// Zero if there is no record.
    package let revision: UInt64
    /// Distinguishes an owner's writes without a revision: rewriting and giving back. Nil for a taking, since of
    /// several for one term only one is stored.
    package let attempt: Int?

    package init(slot: Slot, record: SlotRecord, revision: UInt64, attempt: Int? = nil) {
        (self.slot, self.record, self.revision, self.attempt) = (slot, record, revision, attempt)
    }

    package var messageID: String {
        guard revision == 0 else { return "s.\(slot)@\(revision)" }
        return "s.\(slot)@0.\(record.term)" + (attempt.map { ".\($0)" } ?? "")
    }
}

package enum SlotWriteOutcome: Hashable, Sendable {
    /// Stored, and not as a duplicate, with this revision.
    case stored(revision: UInt64)
    /// Another write came first.
    case refused
    /// A duplicate, a timeout or a lost connection: read what is stored now.
    case unknown
}
