import Basics
import CurlTransport
import Foundation
import MatrixProtocol
import MatrixSDK
import Realtime

/// Receives the events of a session and inserts events that a sync left out.
///
/// A sync contains a limited number of events per room. The intake fetches those before them from the homeserver.
/// Everything that arrives meanwhile waits, so that readers see each room in order. Events that it cannot fetch are
/// reported as a gap.
final class MatrixIntake: RealtimeEventSink {
    private enum Step: Sendable {
        case events(SourceEvents)
        case position(String)
        case gap(SourceGap, since: String)
    }

    private struct State {
        /// The newest position reported by the session.
        var token: String?
        /// The steps after a gap that is being filled.
        var waiting: [Step] = []
        var filling: (task: Task<Void, Never>, since: Date)?
        var isStopped = false
        weak var session: MXSession?
    }

    private let intake: RelayIntake
    private let history: MatrixHistory
    private let gate = HoldGate()
    private let state: Lock<State>

    /// - Parameter token: The position from which the session resumes; nil for a new session.
    init(_ intake: RelayIntake, of session: MXSession, _ history: MatrixHistory, since token: String?) {
        (self.intake, self.history) = (intake, history)
        state = Lock(State(token: token, session: session))
    }

    /// Stops, and returns when nothing more arrives.
    func stop() async {
        let task = state.withLock { state in
            (state.session, state.isStopped) = (nil, true)
            return state.filling?.task
        }
        task?.cancel()
        gate.close()
        await task?.value
    }

    /// While held, leaves events on the homeserver.
    func hold(_ isHeld: Bool) {
        gate.hold(isHeld)
        holdsChanged()
    }

    /// The time up to which everything has been passed on; nil if nothing is pending.
    var fillingSince: Date? { state.withLock { $0.filling?.since } }

    /// The I/O thread reads the state when it runs this, so the last of two changes wins.
    private func holdsChanged() {
        NetworkActor.execute { [weak self] in
            guard let self else { return }
            let (session, isFilling) = state.withLock { ($0.session, $0.filling != nil) }
            session?.hold(gate.isHeld || isFilling, for: self)
        }
    }

    // MARK: What comes

    func receive(_ events: SourceEvents) { take(.events(events)) }

    func receive(reached position: String) {
        state.withLock { $0.token = position }
        // Gaps are dated from when the position was reached, not from when waiting events were passed on.
        take(.position(MatrixPosition(token: position, date: Date()).text))
    }

    func receive(_ gap: SourceGap) {
        guard gap.endPosition != nil, let token = state.withLock({ $0.token }) else { return intake.receive(gap) }
        take(.gap(gap, since: token))
    }

    func receive(_ failure: SourceFailure) { intake.receive(failure) }

    func receive(_ state: SourceState) { intake.receive(state) }

    private func take(_ step: Step) {
        let (passes, begins) = state.withLock { state in
            if state.isStopped { return (false, false) }
            let isFilling = state.filling != nil
            if !isFilling {
                guard case .gap = step else { return (true, false) }
                state.filling = (Task { [weak self] in await self?.goOn() }, Date())
            }
            state.waiting.append(step)
            return (false, !isFilling)
        }
        if passes { pass(step) }
        if begins { holdsChanged() }
    }

    private func pass(_ step: Step) {
        switch step {
        case .events(let events): intake.receive(events)
        case .position(let position): intake.receive(reached: position)
        case .gap(let gap, _): intake.receive(gap)
        }
    }

    // MARK: Filling gaps

    private func goOn() async {
        while !Task.isCancelled, let step = next() {
            await gate.waitUntilReleased()
            switch step {
            case .events, .position: pass(step)
            case .gap(let gap, let token): guard await fill(gap, since: token) else { return }
            }
        }
        holdsChanged()
    }

    /// Returns nil when nothing is waiting any more. New events then need not wait, either.
    private func next() -> Step? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.filling = nil
            return nil
        }
    }

    /// - Returns: False if nothing more may be delivered because the session has ended.
    private func fill(_ gap: SourceGap, since token: String) async -> Bool {
        guard let end = gap.endPosition else { return true }
        let room = String(gap.channelName.dropFirst("matrix:".count))
        let ignored = state.withLock { $0.session }?.ignoredUsers ?? []
        let answer = await history.events(of: room, from: token, to: end) { [intake] trouble in
            intake.receive(SourceFailure(trouble, channelName: gap.channelName, willRetry: true))
        }
        await gate.waitUntilReleased()
        guard !Task.isCancelled, let answer else { return false }
        let brought = broughtEvents(of: gap.channelName)
        let missing = answer.events.filter { !brought.contains($0.eventId) }
        // The sync reported that it left something out.
        if let failure = answer.failure ?? (missing.isEmpty ? "the homeserver gave none of it" : nil) {
            let what = "what a sync left out of \(room) is missing: \(failure)"
            intake.receive(SourceFailure(what, channelName: gap.channelName))
            intake.receive(gap)
        }
        var events = SourceEvents()
        for event in missing where event.isState || !ignored.contains(event.sender) {
            events.append(event, to: gap.channelName)
        }
        intake.receive(events)
        return true
    }

    /// Returns the IDs of the events after the gap, because servers order a page of history differently from a sync.
    private func broughtEvents(of channelName: String) -> Set<ByteKey> {
        var ids: Set<ByteKey> = []
        for case .events(let events) in state.withLock({ $0.waiting }) {
            for (event, _) in events.batch(channelID: { _ in nil }) where event.channelName == channelName {
                if let id = event.json["event_id"]?.string { ids.insert(id) }
            }
        }
        return ids
    }
}
