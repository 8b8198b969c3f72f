import Basics
import CurlTransport
import Foundation
import RelayProtocol

/// Starting and stopping the sources of events.
extension RelayCore {
    private static var startPause: Duration { .seconds(1) }
    private static var maximumStartPause: Duration { .seconds(30) }

    // MARK: Units of others

    /// Starts a unit's source and keeps its events until the relay that owns the unit has left.
    @NetworkActor
    func prepare(_ unit: String) {
        guard let source = sources[unit] else { return }
        guard !source.hasHistory else { return prepared(unit) }
        let run = begin(unit, .preparing(KeptItems()))
        lines.run(unit) { [self] in
            await start(source, unit, run, settled: nil) {
                self.isCurrent(unit, run)
            } then: { _ in
                let time = Date().milliseconds
                self.state.withLock { state in
                    guard state.units[unit]?.id == run, case .preparing(var kept) = state.units[unit]?.phase else {
                        return
                    }
                    kept.begin(at: time)
                    state.units[unit]?.phase = .preparing(kept)
                }
                NetworkActor.execute { self.prepared(unit) }
            }
        }
    }

    @NetworkActor
    private func prepared(_ unit: String) { handle { machine, now in machine.prepared(unit: unit, now: now) } }

    /// Publishes the kept events of a unit that is now ours.
    ///
    /// - Returns: Whether its source had started.
    @NetworkActor
    private func adopt(_ unit: String, _ term: Int, _ predecessor: OwnershipMachine.Predecessor) -> Bool {
        state.withLock { state in
            guard let run = state.units[unit], case .preparing(let kept) = run.phase, kept.start != nil else {
                return false
            }
            state.units[unit]?.phase = .running(term: term)
            state.keptBytes -= kept.byteCount
            let items = kept.items(after: predecessor) { start, end in
                let gap = RelayGap(channel: Self.channel(of: unit), start: start, end: end, reason: "takeover")
                return RelayItem(unit: unit, run: run.id, content: .gap(gap), time: end)
            }
            let own = items.map { outgoing($0, term) }
            // Under the lock, so that events that arrive meanwhile follow.
            call { machine, now in machine.add(own, now: now) }
            return true
        }
    }

    // MARK: Own units

    @NetworkActor
    func start(
        _ unit: String, _ slot: Slot, _ term: Int, _ predecessor: OwnershipMachine.Predecessor
    ) {
        guard let source = sources[unit] else { return }
        guard !adopt(unit, term, predecessor) else {
            return report(.started(unit: unit, term: term, position: nil))
        }
        let isBeingPrepared = forget(unit) != nil
        let run = begin(unit, .starting(term: term, settled: predecessor.limit ?? .max))
        lines.run(unit, interrupting: isBeingPrepared) { [self] in
            if isBeingPrepared { await source.stop(unit) }
            await start(source, unit, run, settled: predecessor.limit) {
                self.isCurrent(unit, run) && self.peek { $0.ownership.held[slot] == term }
            } then: { known in
                self.report(.started(unit: unit, term: term, position: known?.position))
                // With a position, the source resumes there; without one, it is unknown what was missed.
                if known == nil { self.tellGap(after: predecessor, RelayInlet(self, unit, run: run)) }
                // After the gap, so that no heartbeat reports everything as stored before the gap is.
                NetworkActor.execute { [self] in
                    state.withLock { state in
                        if state.units[unit]?.id == run { state.units[unit]?.phase = .running(term: term) }
                    }
                }
            }
        }
    }

    /// Starts a source, retrying until it succeeds or is no longer needed.
    ///
    /// - Parameter settled: The time up to which everything is in the stream, if known.
    private func start(
        _ source: any RelaySource, _ unit: String, _ run: Int, settled: Int64?,
        while isWanted: @Sendable () -> Bool, then: @Sendable (PositionStore.Position?) -> Void
    ) async {
        var (pause, hasRecalled) = (Self.startPause, false)
        while !Task.isCancelled, isWanted() {
            do {
                let known = try await source.hasHistory ? positions.load(unit) : nil
                if let known, !hasRecalled {
                    try await recall(unit, run, since: max(known.time, settled ?? 0))
                    hasRecalled = true
                }
                try await source.start(unit, from: known?.position, into: RelayInlet(self, unit, run: run))
                return then(known)
            } catch is CancellationError {
                return await source.stop(unit)
            } catch {
                let text = (error as? NATSError)?.description ?? "it cannot be started: \(error)"
                report(.sourceFailed(unit: unit, message: text, willRetry: true))
                await source.stop(unit)
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.maximumStartPause)
            }
        }
    }

    /// Events after a position may have been stored long before the position itself.
    private static let recallMargin = Duration.seconds(60)

    /// Reads back events that the stream has after an old position but no longer recognizes as repeated. If that fails,
    /// events may be repeated, which is better than missing.
    private func recall(_ unit: String, _ run: Int, since time: Int64) async throws(NATSError) {
        let age = Duration.milliseconds(Date().milliseconds - time)
        guard let window = try await stream.streamStatus(options.stream)?.settings.duplicateWindow, age > window / 2
        else { return }
        let source = RelayItem.source(of: unit)
        do throws(NATSError) {
            let since = time - Self.recallMargin.wholeNanoseconds / 1_000_000
            let stored = try await StoredIDs.read(stream, source: source, since: max(since, 0), options)
            state.withLock { state in
                if state.units[unit]?.id == run { state.units[unit]?.stored = stored }
            }
        } catch {
            guard error.kind == .permission || error.kind == .timeout else { throw error }
            report(
                .sourceFailed(
                    unit: unit, message: "events from before the outage may be stored twice: \(error)", willRetry: false
                ))
        }
    }

    private func begin(_ unit: String, _ phase: UnitRun.Phase) -> Int {
        state.withLock { state in
            state.lastRun += 1
            state.units[unit] = UnitRun(id: state.lastRun, phase: phase)
            return state.lastRun
        }
    }

    private func isRunning(_ unit: String) -> Bool {
        state.withLock { state in
            switch state.units[unit]?.phase {
            case .running: true
            case .preparing, .starting, nil: false
            }
        }
    }

    private func isCurrent(_ unit: String, _ run: Int) -> Bool { state.withLock { $0.units[unit]?.id == run } }

    @discardableResult
    private func forget(_ unit: String) -> UnitRun? {
        state.withLock { state in
            guard let run = state.units.removeValue(forKey: unit) else { return nil }
            if case .preparing(let kept) = run.phase { state.keptBytes -= kept.byteCount }
            return run
        }
    }

    private func tellGap(after predecessor: OwnershipMachine.Predecessor, _ inlet: RelayInlet) {
        switch predecessor {
        case .nobody: return
        case .settled(let time), .handedOver(let time):
            let end = Date()
            let start = time.map { Date(timeIntervalSince1970: Double($0) / 1000) } ?? Date(timeIntervalSince1970: 0)
            inlet.receiveGap(
                channel: Self.channel(of: inlet.unit), start: min(start, end), end: end, reason: "takeover")
        }
    }

    /// Returns the channel of a unit; nil for a unit with many channels.
    private static func channel(of unit: String) -> String? {
        let parts = unit.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0] == "pusher" ? String(parts[2]) : nil
    }

    @NetworkActor
    func stop(_ unit: String) {
        guard let run = forget(unit) else { return }
        positions.forget(unit)
        lines.run(unit, interrupting: true) { [self] in
            await sources[unit]?.stop(unit)
            if run.term != nil { report(.stopped(unit: unit)) }
        }
    }

    @NetworkActor
    func finish(_ unit: String) {
        lines.run(unit, interrupting: true) { [self] in
            let isWhole = isRunning(unit) ? await sources[unit]?.hasHeardAll(of: unit) ?? false : false
            let time = receivedTime
            await sources[unit]?.stop(unit)
            forget(unit)
            call { machine, now in machine.stopped(unit: unit, time: time, isWhole: isWhole, now: now) }
            report(.stopped(unit: unit))
        }
    }
}

/// Runs work on units: in order for each unit, concurrently for different ones.
final class UnitLines: Sendable {
    private let tails = Lock<[ByteKey: (id: UUID, task: Task<Void, Never>)]>([:])

    /// - Parameter isInterrupting: Whether to cancel running work.
    func run(_ unit: String, interrupting isInterrupting: Bool = false, _ work: @escaping @Sendable () async -> Void) {
        let id = UUID()
        tails.withLock { tails in
            let last = tails[unit]?.task
            if isInterrupting { last?.cancel() }
            tails[unit] = (
                id,
                Task {
                    await last?.value
                    await work()
                    self.end(unit, id)
                }
            )
        }
    }

    private func end(_ unit: String, _ id: UUID) {
        let old = tails.withLock { tails in tails[unit]?.id == id ? tails.removeValue(forKey: unit) : nil }
        _ = old  // released after the lock
    }
}
