import Basics
import CurlTransport
import Foundation
import RelayProtocol

/// Starting and stopping what the events come from.
extension RelayCore {
    private static var startPause: Duration { .seconds(1) }
    private static var maximumStartPause: Duration { .seconds(30) }

    @NetworkActor
    func start(
        _ unit: String, _ slot: Slot, _ term: Int, _ predecessor: OwnershipMachine.Predecessor
    ) {
        guard let source = sources[unit] else { return }
        state.withLock { state in
            state.terms[unit] = term
            if case .settled(let time) = predecessor { state.starting[unit] = time ?? 0 }
        }
        lines.run(unit) { [self] in
            var pause = Self.startPause
            while !Task.isCancelled, isOurs(unit, slot, term) {
                do {
                    let known = try await positions.load(unit)
                    let inlet = RelayInlet(self, unit, term)
                    try await source.start(unit, from: known?.position, into: inlet)
                    report(.started(unit: unit, term: term, position: known?.position))
                    // Who has a position goes on there; of others it is not known what they have missed.
                    if known == nil { tellGap(after: predecessor, inlet) }
                    // Behind the gap, so that no heartbeat says that all is in the stream before that is.
                    NetworkActor.execute { [self] in
                        state.withLock { state in
                            if state.terms[unit] == term { state.starting[unit] = nil }
                        }
                    }
                    return
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
    }

    private func isOurs(_ unit: String, _ slot: Slot, _ term: Int) -> Bool {
        state.withLock { $0.terms[unit] == term } && peek { $0.ownership.held[slot] == term }
    }

    private func tellGap(after predecessor: OwnershipMachine.Predecessor, _ inlet: RelayInlet) {
        switch predecessor {
        case .nobody: return
        case .settled(let time):
            let end = Date()
            let start = time.map { Date(timeIntervalSince1970: Double($0) / 1000) } ?? Date(timeIntervalSince1970: 0)
            inlet.receiveGap(channel: inlet.channel, start: min(start, end), end: end, reason: "takeover")
        }
    }

    @NetworkActor
    func stop(_ unit: String) {
        state.withLock { ($0.terms[unit], $0.starting[unit]) = (nil, nil) }
        positions.forget(unit)
        lines.run(unit, interrupting: true) { [self] in
            await sources[unit]?.stop(unit)
            report(.stopped(unit: unit))
        }
    }

    @NetworkActor
    func finish(_ unit: String) {
        lines.run(unit, interrupting: true) { [self] in
            let time = receivedTime
            await sources[unit]?.stop(unit)
            state.withLock { ($0.terms[unit], $0.starting[unit]) = (nil, nil) }
            call { machine, now in machine.stopped(unit: unit, time: time, now: now) }
            report(.stopped(unit: unit))
        }
    }
}

/// Work on units: of one unit one after the other, of several at once.
final class UnitLines: Sendable {
    private let tails = Lock<[String: (id: UUID, task: Task<Void, Never>)]>([:])

    /// - Parameter isInterrupting: Whether what is under way is cancelled.
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
        _ = old  // let go of after the lock
    }
}
