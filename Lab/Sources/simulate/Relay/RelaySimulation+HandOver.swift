import Basics
import CurlTransport
import RelayProtocol

/// Slots of relays that leave: the next owner's sources start before the last one's stop.
extension RelaySimulation {
    func leave(_ process: RelayProcess) {
        if process.leavingSince == nil { process.leavingSince = process.loop.now }
        process.isLeaving = true
        process.take { $0.leave(now: $1) }
    }

    /// Starts the sources of a slot after some time.
    func prepare(_ slot: Slot, _ process: RelayProcess) {
        statistics.count(.preparations)
        process.prepared[slot] = .some(nil)
        after(latency * 2) { [weak process] in
            process?.loop.run { [weak process, weak self] in
                // Sources of an earlier term that started slowly are ignored.
                guard let self, let process, !process.isDead, process.prepared[slot] == .some(nil) else { return }
                process.prepared[slot] = now
                process.handle { $0.prepared(slot, now: $1) }
            }
        }
    }

    /// Records that the sources of a slot have stopped.
    func ended(_ slot: Slot, _ process: RelayProcess) {
        guard let term = process.peek({ $0.held[slot] }) else { return }
        ends[slot, default: [:]][term] = now
        let hadSources = process.sources.remove(slot) != nil
        let isReady = living.contains { $0 !== process && $0.prepared[slot]?.map { $0 <= now } ?? false }
        if isReady { statistics.count(.handOvers) }
        guard let start = process.leavingSince else {
            let heir = process.peek { $0.announced?.heir }
            // Slots are moved soon after relays have recovered, and not later.
            let quiet = Duration.seconds(30)
            let isHeirWell = living.contains { $0.id == heir && $0.isWell(for: quiet) && !$0.withdrawn.contains(slot) }
            guard process.isWell(for: quiet), isHeirWell, hadSources, latency <= .milliseconds(100) else { return }
            return check(isReady, "\(process.id) moves slot \(slot) before another relay is ready for it")
        }
        let isOver = process.loop.now - start >= process.peek { $0.configuration.handOverLimit }
        // The sources of a slot that was taken during the departure have not started.
        let hasHeir = living.contains { !$0.isLeaving && $0.isWell && !$0.withdrawn.contains(slot) }
        guard process.isWell, !isReady, hadSources, hasHeir else { return }
        let isSlow = latency > .milliseconds(100)
        check(isOver && isSlow, "\(process.id) gives slot \(slot) back before another relay is ready for it")
    }

    /// Records that the sources of a slot have started, now or before.
    func began(_ slot: Slot, _ term: Int, _ predecessor: OwnershipMachine.Predecessor, _ process: RelayProcess) {
        process.sources.insert(slot)
        defer { process.prepared[slot] = nil }
        guard case .handedOver = predecessor else { return }
        let (start, end) = (process.prepared[slot] ?? nil, ends[slot]?[term - 1])
        let isWhole = start.flatMap { start in end.map { start <= $0 } } ?? false
        check(isWhole, "slot \(slot) ended before \(process.id) was ready, and counts as handed over")
    }
}
