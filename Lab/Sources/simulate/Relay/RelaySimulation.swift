import Basics
import CurlTransport
import RelayProtocol

/// Relays that share slots through a bucket: a slot never has two owners at once, whatever clocks, pauses and links do.
@NetworkActor
final class RelaySimulation: Simulation {
    typealias Kind = RelayKind

    let schedule: RelaySchedule
    let stage: Stage
    var statistics = Statistics<RelayKind>()
    private var bucket: RelayBucket
    private let oldFences: [Slot: Int]
    private var processes: [RelayProcess] = []
    private let slots: Set<Slot>
    var latency = Duration.milliseconds(5)
    private var electionEnd = SimulatedLoop.start
    private var isHealed = false
    private var started = 0
    /// Slots with a lost record.
    private var forgotten: Set<Slot> = []
    /// The owner of each term of each slot, which never changes.
    private var owners: [Slot: [Int: String]] = [:]
    /// The times at which the sources of each term of each slot stopped.
    var ends: [Slot: [Int: MonotonicInstant]] = [:]

    init(_ schedule: RelaySchedule, isRecording: Bool) {
        self.schedule = schedule
        stage = Stage(seed: schedule.seed, isRecording: isRecording)
        slots = Set((0..<schedule.options.slots).compactMap { Slot($0 * 100) })
        let term = schedule.options.oldTerm
        oldFences = term > 0 ? Dictionary(uniqueKeysWithValues: slots.map { ($0, term) }) : [:]
        bucket = RelayBucket(fences: oldFences)
        for _ in 0..<schedule.options.relays { start() }
    }

    var living: [RelayProcess] { processes.filter { !$0.isDead } }

    var nextDeadline: MonotonicInstant? { now }

    // MARK: Steps

    func perform(_ happening: RelaySchedule.Happening) {
        switch happening {
        case .start: start()
        case .kill(let index): kill(index)
        case .pause(let index, let duration):
            statistics.count(.pauses)
            pick(index)?.loop.pause(duration)
            pick(index)?.trouble(until: now + duration)
        case .leave(let index):
            statistics.count(.leaves)
            if let process = pick(index) { leave(process) }
        case .link(let index, let link):
            guard let process = pick(index) else { return }
            process.trouble(until: now)
            process.link = link
            if !link.isCut { look(process) }
        case .blind(let index):
            pick(index)?.trouble(until: now)
            pick(index)?.isBlind = true
        case .election(let duration):
            electionEnd = max(electionEnd, now + duration)
            for process in living { process.trouble(until: electionEnd) }
        case .latency(let latency):
            for process in living { process.trouble(until: now) }
            self.latency = latency
        case .forget(let index):
            forget(slot(index))
        case .revive(let index):
            let slot = slot(index)
            guard canForget(slot), bucket.revive(slot) else { return }
            log("  what the bucket had lost of slot \(slot) comes to light: \(String(describing: bucket.slots[slot]))")
            statistics.count(.revived)
            hasForgotten(slot)
        case .dropFence(let index):
            let slot = slot(index)
            guard canForget(slot), bucket.dropFence(slot) else { return }
            log("  the stream drops the last fence of slot \(slot)")
            statistics.count(.droppedFences)
        case .purge:
            guard schedule.options.isForgetful, bucket.unfenced.isEmpty else { return }
            log("  the bucket is purged")
            statistics.count(.purges)
            let ids = bucket.purge()
            after(Self.duplicateWindow) { [unowned self] in bucket.expire(ids) }
            forgotten = slots
            for process in living { process.trouble(until: now) }
        }
    }

    /// The time for which servers remember stored IDs.
    private static let duplicateWindow = Duration.seconds(120)

    private func slot(_ index: Int) -> Slot { slots.sorted()[index % slots.count] }

    /// Whether the bucket may lose the record of a slot: bucket and stream do not lose its term at the same time.
    private func canForget(_ slot: Slot) -> Bool {
        schedule.options.isForgetful && !stage.isOver && !bucket.unfenced.contains(slot)
    }

    @discardableResult
    private func forget(_ slot: Slot) -> Bool {
        guard canForget(slot), bucket.slots[slot] != nil else { return false }
        log("  the bucket loses the newest record of slot \(slot)")
        statistics.count(.forgotten)
        bucket.forgetNewest(slot)
        hasForgotten(slot)
        return true
    }

    private func hasForgotten(_ slot: Slot) {
        forgotten.insert(slot)
        for process in living { process.trouble(until: now) }
    }

    private func pick(_ index: Int) -> RelayProcess? {
        living.isEmpty ? nil : living[index % living.count]
    }

    private func start() {
        guard living.count(where: { !$0.isLeaving }) < 4 else { return }
        statistics.count(.starts)
        started += 1
        let drift = schedule.options.drift
        let rate = 1 + Double(random.below(2 * drift + 1) - drift) / 1000
        // Names return: a restarted process has the same name.
        let id = RelayID(name: "relay-\(started % 4)", random: UInt64(started))
        let process = RelayProcess(self, id, slots: slots, rate: rate)
        processes.append(process)
        process.call { _, _ in }
        look(process)
    }

    private func kill(_ index: Int) {
        guard let process = pick(index) else { return }
        statistics.count(.kills)
        process.isDead = true
        process.closeDriver()
    }

    // MARK: Orders of a process

    func perform(_ action: OwnershipMachine.Action, of process: RelayProcess) {
        switch action {
        case .beat(let heartbeat): beat(heartbeat, process)
        case .write(let write): self.write(write, process)
        case .readSlot(let slot):
            request(process) { [unowned self] in
                let known = bucket.slots[slot]
                return {
                    $0.slotSeen(slot, record: known?.record, revision: known?.revision ?? 0, isOfLeader: true, now: $1)
                }
            } failed: {
                $0.readFailed(slot, now: $1)
            }
        case .readHeartbeat(let relay):
            request(process) { [unowned self] in
                let known = bucket.heartbeats[relay]
                return { $0.heartbeatRead(relay, known?.heartbeat, revision: known?.revision ?? 0, now: $1) }
            } failed: {
                $0.heartbeatReadFailed(relay, now: $1)
            }
        case .readFence(let slot):
            request(process) { [unowned self] in
                let fence = bucket.lastFence(slot)
                return { $0.fenceRead(slot, fence, now: $1) }
            } failed: {
                $0.fenceReadFailed(slot, now: $1)
            }
        case .fence(let slot, let term, let sequence):
            let id = process.id
            request(process, isWrite: true) { [unowned self] in
                let outcome = bucket.fence(slot, term: term, of: id, over: sequence)
                if outcome == .known, bucket.lastFence(slot)?.relay != id { statistics.count(.fencesOfOthers) }
                return { $0.fenceWritten(slot, term: term, outcome, now: $1) }
            } failed: {
                $0.fenceWritten(slot, term: term, .failed, now: $1)
            }
        case .prepare(let slot): prepare(slot, process)
        case .unprepare(let slot):
            process.prepared[slot] = nil
            process.withdrawn.insert(slot)
        case .start(let slot, let term, let predecessor):
            log("  \(process.id) has slot \(slot), term \(term), after \(predecessor)")
            claim(slot, term, process)
            began(slot, term, predecessor, process)
            send(slot, term, process)
        case .drain(let slot):
            statistics.count(.moves)
            ended(slot, process)
            after(latency * 2) { [weak process] in process?.take { $0.drained(slot, now: $1) } }
        case .drop(let slot):
            log("  \(process.id) gives slot \(slot) up")
            process.sources.remove(slot)
            process.prepared[slot] = nil
        case .report(let report):
            log("  \(process.id): \(report)")
            if case .lost = report { statistics.count(.losses) }
        case .finished:
            process.isDead = true
            process.closeDriver()
        }
    }

    private func claim(_ slot: Slot, _ term: Int, _ process: RelayProcess) {
        statistics.count(.takings)
        let owner = "\(process.id) \(process.peek { $0.incarnation })"
        let known = owners[slot]?[term]
        check(known == nil, "term \(term) of slot \(slot) is \(owner)'s and \(known ?? "")'s")
        check(term > oldFences[slot] ?? 0, "term \(term) of slot \(slot) is not above the last fence")
        owners[slot, default: [:]][term] = owner
    }

    private func beat(_ heartbeat: Heartbeat, _ process: RelayProcess) {
        let id = process.id
        request(process, isWrite: true) { [unowned self] in
            bucket.put(heartbeat, of: id)
            let revision = bucket.revision
            changed { $0.heartbeatSeen(id, heartbeat, revision: revision, now: $1) }
            return { $0.heartbeatStored(heartbeat, now: $1) }
        }
    }

    private func write(_ write: SlotWrite, _ process: RelayProcess) {
        let incarnation = process.peek { $0.incarnation }
        check(write.record.incarnation == incarnation, "\(process.id) writes for an incarnation that is over")
        request(process, isWrite: true) { [unowned self] in
            let outcome = bucket.write(write)
            switch outcome {
            case .stored(let revision):
                // The server that acknowledged it dies before it reports the change.
                if schedule.options.isForgetful, !isHealed, random.chance(10), forget(write.slot) { break }
                changed { $0.slotSeen(write.slot, record: write.record, revision: revision, now: $1) }
            case .refused: statistics.count(.refusals)
            case .unknown: statistics.count(.unknowns)
            }
            return { $0.writeEnded(write, outcome, now: $1) }
        } failed: {
            $0.writeEnded(write, .unknown, now: $1)
        }
    }

    /// Sends a message of the slot, and further ones while the slot is owned.
    private func send(_ slot: Slot, _ term: Int, _ process: RelayProcess) {
        process.loop.run { [weak self, weak process] in
            guard let self, let process, !process.isDead, !stage.isOver else { return }
            let now = process.loop.now
            guard process.peek({ $0.held[slot] }) == term else { return }
            if process.peek({ $0.maySend(slot, term: term, now: now) }) {
                check(process.owned.contains(slot), "\(process.id) sends for slot \(slot), which it does not own")
                statistics.count(.messages)
                transmit(process) { [unowned self] in
                    if bucket.isLate(slot, term: term) { statistics.count(.lateMessages) }
                }
            }
            after(random.seconds(0.5...3)) { [weak self, weak process] in
                guard let self, let process else { return }
                send(slot, term, process)
            }
        }
    }

    // MARK: The network

    /// Sends a request that may be lost or very late: the process may be paused between a check and the write.
    private func transmit(_ process: RelayProcess, _ arrive: @escaping SimulatedLoop.Job) {
        let link = process.link
        guard !link.isCut, !random.chance(link.lostRequests) else { return }
        after(random.chance(link.lateRequests) ? random.seconds(1...60) : latency, arrive)
    }

    private typealias Answer = @Sendable (inout OwnershipMachine, MonotonicInstant) -> Void

    private func request(
        _ process: RelayProcess, isWrite: Bool = false, _ perform: @escaping @NetworkActor @Sendable () -> Answer,
        failed: Answer? = nil
    ) {
        let isEnded = Lock(false)
        transmit(process) { [weak self, weak process] in
            guard let self, let process else { return }
            guard now >= electionEnd || !isWrite else { return }
            let answer = perform()
            let link = process.link
            guard !link.isCut, !random.chance(link.lostAnswers) else { return }
            after(random.chance(link.lateAnswers) ? random.seconds(1...60) : latency) { [weak process] in
                process?.take { machine, now in
                    // A late answer counts as a heartbeat only.
                    if failed == nil || isEnded.withLock({ !exchange(&$0, true) }) { answer(&machine, now) }
                }
            }
        }
        guard let failed else { return }
        after(.seconds(2)) { [weak process] in
            process?.take { machine, now in
                if isEnded.withLock({ !exchange(&$0, true) }) { failed(&machine, now) }
            }
        }
    }

    private func changed(_ change: @escaping Answer) {
        for process in living {
            guard !process.link.isCut else {
                process.isBlind = true
                continue
            }
            guard !process.isBlind else { continue }
            process.lastChange = max(process.lastChange, now + latency)
            stage.loop.add(at: process.lastChange) { [weak process] in process?.take(change) }
        }
    }

    /// Shows a process the whole bucket, and its changes from now on.
    private func look(_ process: RelayProcess) {
        guard !process.link.isCut, process.isBlind else { return }
        process.isBlind = false
        let (heartbeats, slots) = (bucket.heartbeats, bucket.slots)
        process.lastChange = max(process.lastChange, now + latency)
        stage.loop.add(at: process.lastChange) { [weak process] in
            process?.take { machine, now in
                for (relay, known) in heartbeats {
                    machine.heartbeatSeen(relay, known.heartbeat, revision: known.revision, now: now)
                }
                for (slot, known) in slots {
                    machine.slotSeen(slot, record: known.record, revision: known.revision, now: now)
                }
                machine.readCompleted(now: now)
            }
        }
    }

    // MARK: Invariants

    func checkAlways() {
        var owners: [Slot: RelayID] = [:]
        for process in processes where !process.isDead {
            for slot in process.owned {
                // A relay that takes a lost slot cannot know of the other owner; each has its own term.
                let other = owners.updateValue(process.id, forKey: slot)
                guard let other, !forgotten.contains(slot) else { continue }
                check(false, "slot \(slot) is owned by \(other) and \(process.id)")
            }
        }
    }

    func heal() {
        log("nothing goes wrong any more")
        isHealed = true
        latency = .milliseconds(5)
        electionEnd = now
        for process in living {
            process.trouble(until: now)
            process.link = .init()
            look(process)
        }
        if living.allSatisfy(\.isLeaving) { start() }
        after(.seconds(200)) { [unowned self] in forgotten = [] }
        after(.seconds(300)) { [unowned self] in
            let living = living
            for process in living {
                for (slot, term) in process.peek({ $0.held }) {
                    check(!bucket.isLate(slot, term: term), "readers drop what \(process.id) sends of slot \(slot)")
                    let fence = bucket.lastFence(slot)?.term
                    check(fence == term, "slot \(slot) is in term \(term), and its last fence is of \(fence ?? 0)")
                }
            }
            var loads: [Int] = []
            for process in living { loads.append(process.peek { $0.held.count }) }
            check(loads.reduce(0, +) == slots.count, "of \(slots.count) slots, relays have \(loads)")
            for slot in slots {
                let relaying = living.filter { $0.sources.contains(slot) }
                check(relaying.count == 1, "slot \(slot) is relayed by \(relaying.map { "\($0.id)" })")
            }
            check((loads.max() ?? 0) - (loads.min() ?? 0) <= 1, "slots are shared \(loads)")
            stage.isOver = true
            // The others must take over the first one's slots.
            living.first.map { leave($0) }
            after(.seconds(15)) { [unowned self] in
                for process in self.living { leave(process) }
            }
            after(.seconds(60)) { [unowned self] in
                check(self.living.isEmpty, "\(self.living.count) relays do not end")
                for process in self.living { process.closeDriver() }
            }
        }
    }
}

private func exchange(_ value: inout Bool, _ new: Bool) -> Bool {
    defer { value = new }
    return value
}
