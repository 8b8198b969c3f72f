import Basics
import Testing

@testable import RelayProtocol

/// The stream keeps one fence for each slot and term, and thus decides who owns a term.
struct OwnershipFenceTests {
    private static let (own, other) = (RelayID(name: "a", random: 1), RelayID(name: "b", random: 2))
    private let slot: Slot
    private let slots: Set<Slot>

    init() throws {
        slot = try #require(Slot(1))
        slots = [slot, try #require(Slot(2))]
    }

    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(seconds * 1_000_000_000))
    }

    private func machine(_ slots: Set<Slot>) -> OwnershipMachine {
        var machine = OwnershipMachine(.init(relay: Self.own, slots: slots), now: at(0))
        machine.heartbeatStored(Heartbeat(incarnation: 1, number: 1), now: at(0))
        return machine
    }

    private func writes(_ actions: [OwnershipMachine.Action]) -> [SlotWrite] {
        actions.compactMap { if case .write(let write) = $0 { write } else { nil } }
    }

    /// Returns a machine that has taken the slot in term 5, settled up to 70, and whose fence is pending.
    private func fencing() throws -> OwnershipMachine {
        var machine = machine([slot])
        let record = SlotRecord(owner: nil, incarnation: 1, term: 4, settled: 70)
        machine.slotSeen(slot, record: record, revision: 9, now: at(0))
        machine.readCompleted(now: at(0))
        #expect(machine.takeActions().contains(.readFence(slot)))
        let last = SlotFence(term: 4, relay: Self.other, sequence: 30)
        machine.fenceRead(slot, last, now: at(0.1))
        let write = try #require(writes(machine.takeActions()).first)
        machine.writeEnded(write, .stored(revision: 10), now: at(0.2))
        #expect(machine.takeActions() == [.readFence(slot)])
        machine.fenceRead(slot, last, now: at(0.25))
        #expect(machine.takeActions() == [.fence(slot, term: 5, over: 30)])
        return machine
    }

    /// Returns a machine that has the slot in term 5, and asks the servers whether they still have its record and
    /// fence.
    private func checking() throws -> OwnershipMachine {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        _ = machine.takeActions()
        machine.timePassed(now: at(3))
        let actions = machine.takeActions()
        #expect(actions.contains(.readSlot(slot)) && actions.contains(.readFence(slot)))
        return machine
    }

    // MARK: Before a slot is taken

    /// A new bucket beside a kept stream: readers drop everything that is not above its last fences.
    @Test func withoutARecord_termsBeginAboveTheLastFence() throws {
        var machine = machine(slots)
        machine.readCompleted(now: at(0))
        let actions = machine.takeActions()
        #expect(writes(actions).isEmpty && slots.allSatisfy { actions.contains(.readFence($0)) })
        let (first, second) = (slot, try #require(Slot(2)))
        machine.fenceRead(first, SlotFence(term: 7, relay: nil, sequence: 3), now: at(0.1))
        machine.fenceReadFailed(second, now: at(0.1))
        let write = try #require(writes(machine.takeActions()).first)
        #expect(write.slot == first && write.record.term == 8 && write.revision == 0)
        machine.writeEnded(write, .stored(revision: 3), now: at(0.2))
        #expect(machine.takeActions() == [.readFence(first)])
        machine.fenceRead(first, SlotFence(term: 7, relay: nil, sequence: 3), now: at(0.25))
        #expect(machine.takeActions() == [.fence(first, term: 8, over: 3)])
        machine.fenceWritten(first, term: 8, .stored, now: at(0.3))
        #expect(machine.takeActions() == [.start(first, term: 8, .settled(nil))])
        machine.timePassed(now: at(0.7))
        #expect(machine.takeActions() == [.readFence(second)])
    }

    /// This happens on servers of version 2.9.10 after two of three were killed.
    @Test func aBucketThatHasLostATerm_doesNotGiveItTwice() throws {
        var machine = machine([slot])
        let record = SlotRecord(owner: nil, incarnation: 1, term: 4)
        machine.slotSeen(slot, record: record, revision: 9, now: at(0))
        machine.readCompleted(now: at(0))
        _ = machine.takeActions()
        machine.fenceRead(slot, SlotFence(term: 6, relay: Self.other, sequence: 3), now: at(0.1))
        let write = try #require(writes(machine.takeActions()).first { $0.slot == slot })
        #expect(write.record.term == 7 && write.revision == 9)
        machine.writeEnded(write, .stored(revision: 10), now: at(0.2))
        #expect(machine.takeActions().contains(.readFence(slot)))
    }

    /// Anyone who may write to the stream can write any number. A term that cannot be incremented is not exceeded.
    @Test func aboveTheLargestTermNothingIsTaken_untilTheFenceIsGone() throws {
        var machine = machine([slot])
        machine.readCompleted(now: at(0))
        _ = machine.takeActions()
        let last = SlotFence(term: SlotRecord.terms.upperBound, relay: nil, sequence: 3)
        machine.fenceRead(slot, last, now: at(0.1))
        #expect(machine.takeActions() == [.report(.termsExhausted(slot))])
        var isAskedAgain = false
        for second in stride(from: 3.0, through: 21, by: 3) {
            machine.timePassed(now: at(second))
            let actions = machine.takeActions()
            for case .beat(let beat) in actions { machine.heartbeatStored(beat, now: at(second)) }
            isAskedAgain = (actions + machine.takeActions()).contains(.readFence(slot))
            #expect(isAskedAgain == (second > 20), "\(second)")
        }
        machine.fenceRead(slot, nil, now: at(21.2))
        #expect(writes(machine.takeActions()).first?.record.term == 1)
    }

    // MARK: After a slot is taken

    @Test func nothingIsSentBeforeTheFenceIsInTheStream() throws {
        var machine = try fencing()
        #expect(machine.held[slot] == 5 && !machine.maySend(slot, term: 5, now: at(0.3)))
        machine.fenceWritten(slot, term: 4, .stored, now: at(0.3))  // from the previous term
        #expect(machine.takeActions().isEmpty)
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        #expect(machine.takeActions() == [.start(slot, term: 5, .settled(70))])
        #expect(machine.maySend(slot, term: 5, now: at(0.4)))
    }

    /// The answer was lost.
    @Test func ourOwnFenceIsAsGoodAsANewOne() throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .failed, now: at(0.3))
        #expect(machine.takeActions().isEmpty && machine.nextDeadline == at(0.8))
        machine.timePassed(now: at(0.8))
        #expect(machine.takeActions() == [.readFence(slot)])
        machine.fenceReadFailed(slot, now: at(1))
        #expect(machine.takeActions().isEmpty && machine.nextDeadline == at(1.5))
        machine.timePassed(now: at(1.5))
        #expect(machine.takeActions() == [.readFence(slot)])
        machine.fenceRead(slot, SlotFence(term: 5, relay: Self.own, sequence: 31), now: at(1.7))
        #expect(machine.takeActions() == [.start(slot, term: 5, .settled(70))])
    }

    /// An older fence that came late is in between.
    @Test func aFenceIsWrittenOverTheLastOne() throws {
        var machine = try fencing()
        machine.fenceRead(slot, nil, now: at(0.3))  // an earlier answer
        #expect(machine.takeActions().isEmpty)
        machine.fenceWritten(slot, term: 5, .refused, now: at(0.3))
        #expect(machine.takeActions().isEmpty && machine.nextDeadline == at(0.8))
        machine.timePassed(now: at(0.8))
        #expect(machine.takeActions() == [.readFence(slot)])
        machine.fenceRead(slot, SlotFence(term: 3, relay: Self.other, sequence: 33), now: at(0.9))
        #expect(machine.takeActions() == [.fence(slot, term: 5, over: 33)])
    }

    /// The fence of another relay to which the bucket also gave the term, or of a later term, or none, because the
    /// stream was purged but still knows the ID.
    @Test(arguments: [
        SlotFence(term: 5, relay: other, sequence: 31), SlotFence(term: 5, relay: nil, sequence: 31),
        SlotFence(term: 8, relay: other, sequence: 31), nil,
    ])
    func whereTheFenceIsNotOurs_theSlotIsGivenBack_andTakenWithAHigherTerm(fence: SlotFence?) throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .known, now: at(0.3))
        _ = machine.takeActions()
        machine.fenceRead(slot, fence, now: at(0.4))
        let record = SlotRecord(owner: nil, incarnation: 1, term: 5, settled: 70)
        let release = SlotWrite(slot: slot, record: record, revision: 10)
        #expect(machine.takeActions() == [.drop(slot), .write(release)])
        machine.writeEnded(release, .stored(revision: 11), now: at(0.5))
        #expect(machine.takeActions() == [.readFence(slot)])
        machine.fenceRead(slot, fence, now: at(0.6))
        let again = try #require(writes(machine.takeActions()).first)
        #expect(again.record.term == max(5, fence?.term ?? 0) + 1)
        // Nothing is known of a term that is missing from the bucket.
        #expect(again.record.settled == (again.record.term == 6 ? 70 : nil))
    }

    /// Kept events of the slot are sent, if time permits.
    @Test(arguments: [true, false]) func whoLeavesMeanwhileGivesBackWhenAnotherMayTakeIt(isAlone: Bool) throws {
        var machine = try fencing()
        if !isAlone {
            machine.heartbeatSeen(Self.other, Heartbeat(incarnation: 1, number: 1), revision: 20, now: at(0.3))
        }
        machine.leave(now: at(0.3))
        let release = SlotWrite(
            slot: slot, record: SlotRecord(owner: nil, incarnation: 1, term: 5, settled: 70), revision: 10)
        let actions = machine.takeActions()
        #expect(actions.contains(.drop(slot)) == isAlone && actions.contains(.write(release)) == isAlone)
        guard !isAlone else { return }
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.4))
        #expect(machine.takeActions() == [.start(slot, term: 5, .settled(70))])
        machine.timePassed(now: at(5.3))
        #expect(machine.takeActions().contains(.drain(slot)))
    }

    @Test func whatIsLostWhileItsFenceIsUnderWayIsNotBegun() throws {
        var machine = try fencing()
        machine.timePassed(now: at(15.1))
        #expect(machine.takeActions().contains(.drop(slot)))
        machine.fenceWritten(slot, term: 5, .stored, now: at(15.2))
        #expect(machine.takeActions().isEmpty && machine.held.isEmpty)
    }

    // MARK: After a term has begun

    /// It would renumber its messages, and the stream would take them for the earlier ones.
    @Test func noTermBeginsTwice() throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        let own = SlotRecord(owner: Self.own, incarnation: 1, term: 5)
        let next = SlotRecord(owner: Self.other, incarnation: 1, term: 6)
        machine.slotSeen(slot, record: next, revision: 11, now: at(1))
        #expect(machine.takeActions().contains(.drop(slot)) && machine.held.isEmpty)
        // The bucket loses that. Another relay's record of our term reappears, then ours.
        machine.records[slot] = (SlotRecord(owner: Self.other, incarnation: 1, term: 5), 9)
        machine.slotSeen(slot, record: own, revision: 10, isOfLeader: true, now: at(2))
        let release = SlotWrite(
            slot: slot, record: SlotRecord(owner: nil, incarnation: 1, term: 5), revision: 10)
        #expect(writes(machine.takeActions()).map(\.revision) == [release.revision])
        #expect(machine.held.isEmpty)
    }

    /// The bucket has lost our record, and shows that of a relay that lost the race for the fence. That relay knows
    /// only ours, so each would consider the other one the owner.
    @Test func anotherRelaysRecordOfATermWhoseFenceIsOursIsWrittenOver() throws {
        var machine = try checking()
        let rival = SlotRecord(owner: Self.other, incarnation: 1, term: 5)
        for time in [3.1, 3.7] {
            machine.slotSeen(slot, record: rival, revision: 8, isOfLeader: true, now: at(time))
            #expect(machine.held[slot] == 5)
        }
        #expect(machine.takeActions() == [.report(.forgotten(slot)), .readFence(slot)])
        machine.fenceRead(slot, SlotFence(term: 5, relay: Self.own, sequence: 31), now: at(3.8))
        let again = try #require(writes(machine.takeActions()).first)
        #expect(again.record.owner == Self.own && again.record.term == 5 && again.revision == 8)
    }

    /// The stream has lost our fence. The bucket has the record of the fence's owner, which is not overwritten.
    @Test func aTermWhoseFenceIsAnotherRelaysIsItsOwn() throws {
        var machine = try checking()
        let rival = SlotRecord(owner: Self.other, incarnation: 1, term: 5)
        for time in [3.1, 3.7] { machine.slotSeen(slot, record: rival, revision: 8, isOfLeader: true, now: at(time)) }
        _ = machine.takeActions()
        machine.fenceRead(slot, SlotFence(term: 5, relay: Self.other, sequence: 31), now: at(3.8))
        #expect(machine.takeActions() == [.drop(slot), .report(.taken(slot, by: Self.other))])
        #expect(machine.held.isEmpty && machine.records[slot]?.record == rival)
    }

    /// Otherwise the slot would stay with a relay that does not know about it.
    @Test func aSlotWhoseFenceIsOursIsGivenBackOverAnotherRelaysRecord() throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        machine.leave(now: at(1))
        let rival = SlotRecord(owner: Self.other, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: rival, revision: 8, isOfLeader: true, now: at(1.1))
        _ = machine.takeActions()
        machine.drained(slot, now: at(1.2))
        let first = try #require(writes(machine.takeActions()).first)
        #expect(first.record.owner == nil && first.record.term == 5 && first.revision == 8)
        machine.writeEnded(first, .refused, now: at(1.3))
        machine.slotSeen(slot, record: rival, revision: 7, isOfLeader: true, now: at(1.9))
        let second = try #require(writes(machine.takeActions()).first)
        #expect(second.record == first.record && second.revision == 7)
    }

    /// The owner of the fence is not known yet.
    @Test func whileItsFenceIsUnderWay_aTermIsOfTheRelayInTheLeadersRecord() throws {
        var machine = try fencing()
        let rival = SlotRecord(owner: Self.other, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: rival, revision: 8, isOfLeader: true, now: at(0.3))
        #expect(machine.takeActions().contains(.drop(slot)) && machine.held.isEmpty)
    }

    /// Otherwise the loss would go unnoticed: another relay takes the slot, and readers drop everything written here,
    /// forever.
    @Test func aRecordThatTheServersHaveLostIsWrittenAgain() throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        _ = machine.takeActions()
        machine.timePassed(now: at(3))
        #expect(machine.takeActions().contains(.readSlot(slot)))
        machine.timePassed(now: at(6))
        #expect(!machine.takeActions().contains(.readSlot(slot)))
        machine.slotSeen(
            slot, record: SlotRecord(owner: Self.own, incarnation: 1, term: 5), revision: 10, isOfLeader: true,
            now: at(6.1))
        machine.fenceRead(slot, SlotFence(term: 5, relay: Self.own, sequence: 31), now: at(6.1))
        #expect(machine.takeActions().isEmpty)
        machine.timePassed(now: at(9))
        #expect(machine.takeActions().contains(.readSlot(slot)))
        let older = SlotRecord(owner: nil, incarnation: 1, term: 4)
        machine.slotSeen(slot, record: older, revision: 9, isOfLeader: true, now: at(9.1))
        // The leader may be behind.
        #expect(machine.takeActions().isEmpty && machine.nextDeadline == at(9.6))
        machine.timePassed(now: at(9.6))
        #expect(machine.takeActions() == [.readSlot(slot)])
        machine.slotSeen(slot, record: older, revision: 9, isOfLeader: true, now: at(9.7))
        let again = SlotWrite(
            slot: slot, record: SlotRecord(owner: Self.own, incarnation: 1, term: 5, settled: 70, beat: 1), revision: 9)
        #expect(machine.takeActions() == [.report(.forgotten(slot)), .readFence(slot)])
        machine.fenceRead(slot, SlotFence(term: 5, relay: Self.own, sequence: 31), now: at(9.7))
        #expect(machine.takeActions() == [.write(again)])
        #expect(machine.held[slot] == 5)
        // The servers still know the ID in a purged stream, so the write is retried.
        machine.writeEnded(again, .unknown, now: at(9.8))
        #expect(machine.takeActions().isEmpty)
        machine.timePassed(now: at(12))
        #expect(machine.takeActions().contains(.readSlot(slot)))
    }

    /// The other relay's record is lost, too, and readers drop everything sent here.
    @Test func aSlotThatAnotherRelayHasHadIsGivenBackWithItsRecordLost() throws {
        var machine = try checking()
        for time in [3.1, 3.7] { machine.slotSeen(slot, record: nil, revision: 0, isOfLeader: true, now: at(time)) }
        #expect(machine.takeActions().contains(.readFence(slot)))
        machine.fenceRead(slot, SlotFence(term: 6, relay: Self.other, sequence: 32), now: at(3.8))
        let released = SlotRecord(owner: nil, incarnation: 1, term: 5, settled: 0)
        let write = SlotWrite(slot: slot, record: released, revision: 0, attempt: 1)
        #expect(machine.takeActions() == [.drop(slot), .report(.taken(slot, by: Self.other)), .write(write)])
    }

    /// A stream keeps messages only for a limited time. Without a fence, a relay that finds no record begins at the
    /// first term again.
    @Test(arguments: [nil, 30]) func aFenceThatTheStreamHasDroppedIsWrittenAgain(older: UInt64?) throws {
        var machine = try checking()
        let own = SlotRecord(owner: Self.own, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: own, revision: 10, isOfLeader: true, now: at(3.1))
        machine.fenceRead(slot, older.map { SlotFence(term: 4, relay: Self.other, sequence: $0) }, now: at(3.1))
        #expect(machine.takeActions() == [.fence(slot, term: 5, over: older ?? 0)])
        machine.fenceWritten(slot, term: 5, .stored, now: at(3.2))
        #expect(machine.takeActions().isEmpty && machine.held[slot] == 5)
    }

    /// A stream without a leader answers nothing for a while.
    @Test func fencesAreNotAskedForBeforeThoseBeforeAreAnswered() throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        let own = SlotRecord(owner: Self.own, incarnation: 1, term: 5)
        var asked = 0
        for time in [3.0, 6, 9] {
            machine.timePassed(now: at(time))
            asked += machine.takeActions().count { $0 == .readFence(slot) }
            machine.slotSeen(slot, record: own, revision: 10, isOfLeader: true, now: at(time))
        }
        #expect(asked == 1)
        machine.fenceReadFailed(slot, now: at(9.1))
        machine.timePassed(now: at(12))
        #expect(machine.takeActions().contains(.readFence(slot)))
    }

    /// Of two relays that have begun the same term, one gets the fence. The record follows it.
    @Test(arguments: [FenceOutcome.stored, .known, .refused, .failed])
    func aLostRecordWhoseFenceIsLostIsWrittenAfterTheFence(outcome: FenceOutcome) throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        machine.timePassed(now: at(3))
        for time in [3.1, 3.7] { machine.slotSeen(slot, record: nil, revision: 0, isOfLeader: true, now: at(time)) }
        _ = machine.takeActions()
        machine.fenceRead(slot, nil, now: at(3.8))
        #expect(machine.takeActions() == [.fence(slot, term: 5, over: 0)])
        machine.fenceWritten(slot, term: 5, outcome, now: at(3.9))
        // `known`: the stream was purged a moment ago, and the fence is read again when the stream takes one of the
        // term.
        let isWritten = outcome == .stored || outcome == .known
        #expect(writes(machine.takeActions()).map(\.record.term) == (isWritten ? [5] : []))
        #expect(machine.held[slot] == 5)
    }

    /// The owner of the next term is dead and its record lost; our record has reappeared.
    @Test func aTermThatTheStreamHasOvertakenIsGivenBack() throws {
        var machine = try checking()
        let own = SlotRecord(owner: Self.own, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: own, revision: 10, isOfLeader: true, now: at(3.1))
        machine.fenceRead(slot, SlotFence(term: 6, relay: Self.other, sequence: 32), now: at(3.1))
        let released = SlotRecord(owner: nil, incarnation: 1, term: 5, settled: 0)
        let write = SlotWrite(slot: slot, record: released, revision: 10)
        #expect(machine.takeActions() == [.drop(slot), .report(.taken(slot, by: Self.other)), .write(write)])
    }

    /// Each of two relays can consider the other one the owner. A bucket does not report a record that reappears.
    @Test func theLeaderIsAskedWhoHasASlotThatIsNotInHand() throws {
        var machine = machine([slot])
        machine.heartbeatSeen(Self.other, Heartbeat(incarnation: 1, number: 1), revision: 1, now: at(0))
        let others = SlotRecord(owner: Self.other, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: others, revision: 11, now: at(0))
        machine.readCompleted(now: at(0))
        _ = machine.takeActions()
        machine.timePassed(now: at(3))
        #expect(machine.takeActions().contains(.readSlot(slot)))
        let own = SlotRecord(owner: Self.own, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: own, revision: 11, isOfLeader: true, now: at(3.1))
        #expect(machine.held[slot] == 5 && machine.takeActions() == [.readFence(slot)])
    }

    /// The answer shows the state before the taking, which would count as failed. The previous owner would then be
    /// forgotten.
    @Test func aSlotThatTheLeaderIsAskedForIsTakenAfterTheAnswer() throws {
        var machine = machine([slot])
        machine.heartbeatSeen(Self.other, Heartbeat(incarnation: 1, number: 1), revision: 1, now: at(0))
        let others = SlotRecord(owner: Self.other, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: others, revision: 11, now: at(0))
        machine.readCompleted(now: at(0))
        machine.timePassed(now: at(3))
        machine.heartbeatStored(Heartbeat(incarnation: 1, number: 2), now: at(3.1))
        #expect(machine.takeActions().contains(.readSlot(slot)))
        let left = Heartbeat(incarnation: 1, number: 2, isLeaving: true)
        machine.heartbeatSeen(Self.other, left, revision: 12, now: at(3.2))
        let free = SlotRecord(owner: nil, incarnation: 1, term: 5, settled: 70)
        machine.slotSeen(slot, record: free, revision: 13, now: at(3.2))
        let fence = SlotFence(term: 5, relay: Self.other, sequence: 30)
        if machine.takeActions().contains(.readFence(slot)) { machine.fenceRead(slot, fence, now: at(3.3)) }
        #expect(writes(machine.takeActions()).isEmpty)
        machine.slotSeen(slot, record: free, revision: 13, isOfLeader: true, now: at(3.4))
        if machine.takeActions().contains(.readFence(slot)) { machine.fenceRead(slot, fence, now: at(3.5)) }
        let write = try #require(writes(machine.takeActions()).first)
        machine.writeEnded(write, .stored(revision: 14), now: at(3.6))
        machine.fenceRead(slot, fence, now: at(3.7))
        machine.fenceWritten(slot, term: 6, .stored, now: at(3.8))
        #expect(machine.takeActions().contains(.start(slot, term: 6, .settled(70))))
    }

    /// Servers remember the IDs of purged messages for two minutes.
    @Test func whatWasPurgedIsWrittenWithIDsOfItsOwn() throws {
        var machine = try checking()
        var ids: [String] = []
        for time in [3.1, 3.7, 6.1, 9.1] {
            machine.slotSeen(slot, record: nil, revision: 0, isOfLeader: true, now: at(time))
            machine.fenceRead(slot, SlotFence(term: 5, relay: Self.own, sequence: 31), now: at(time))
            ids += writes(machine.takeActions()).map(\.messageID)
        }
        machine.leave(now: at(9.2))
        _ = machine.takeActions()
        machine.drained(slot, now: at(9.3))
        ids += writes(machine.takeActions()).map(\.messageID)
        #expect(ids == ["s.1@0.5.1", "s.1@0.5.2", "s.1@0.5.3", "s.1@0.5.4"])
    }

    /// A renewed watch repeats all records.
    @Test func whatTheLeaderCouldNotSayIsAskedForAgain() throws {
        var machine = try fencing()
        machine.fenceWritten(slot, term: 5, .stored, now: at(0.3))
        machine.timePassed(now: at(3))
        #expect(machine.takeActions().contains(.readSlot(slot)))
        machine.readFailed(slot, now: at(3.1))
        machine.fenceReadFailed(slot, now: at(3.1))
        let own = SlotRecord(owner: Self.own, incarnation: 1, term: 5)
        machine.slotSeen(slot, record: own, revision: 10, now: at(3.2))
        machine.timePassed(now: at(3.6))
        #expect(machine.takeActions() == [.readSlot(slot)])
        machine.slotSeen(slot, record: own, revision: 10, isOfLeader: true, now: at(3.7))
        machine.timePassed(now: at(6))
        #expect(machine.takeActions().contains(.readSlot(slot)))
    }

    /// Its kept events of the slot are sent first.
    @Test func whatIsKeptIsNotGivenToARelayThatHasFewer() throws {
        var machine = machine(slots)
        let second = try #require(Slot(2))
        machine.heartbeatSeen(Self.other, Heartbeat(incarnation: 1, number: 1), revision: 1, now: at(0))
        machine.readCompleted(now: at(0))
        let record = SlotRecord(owner: Self.own, incarnation: 1, term: 5)
        machine.holdings = [
            slot: .fencing(term: 5, after: .handedOver(70), .writing),
            second: .taking(SlotWrite(slot: second, record: record, revision: 0), after: .nobody),
        ]
        machine.records[slot] = (record, 4)
        for time in stride(from: 3, through: 60, by: 3) {
            let now = at(Double(time))
            machine.timePassed(now: now)
            machine.heartbeatSeen(
                Self.other, Heartbeat(incarnation: 1, number: time), revision: UInt64(time), now: now)
            let actions = machine.takeActions()
            for case .beat(let beat) in actions { machine.heartbeatStored(beat, now: now) }
            #expect(!(actions + machine.takeActions()).contains(.drop(slot)), "\(time)")
        }
    }

    /// Until the record does, heartbeats report nothing else.
    @Test func whatIsBeingGivenBackIsNotSettledLater() throws {
        var machine = try fencing()
        machine.leave(now: at(0.3))
        _ = machine.takeActions()
        machine.timePassed(now: at(3.3))
        let beats = machine.takeActions().compactMap { if case .beat(let beat) = $0 { beat.settled } else { nil } }
        #expect(beats == [70])
    }
}
