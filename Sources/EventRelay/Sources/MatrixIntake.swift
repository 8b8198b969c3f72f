import Basics
import CurlTransport
import Foundation
import MatrixProtocol
import MatrixSDK
import Realtime

/// Takes the events of a session, and puts what a sync left out in its place.
///
/// A sync brings no more than so many events of a room. The intake asks the homeserver for those before them, and all that comes
/// meanwhile waits, so that readers see each room in order. What it does not get is told as a gap.
final class MatrixIntake: RealtimeEventSink {
    private enum Step: Sendable {
        case events(SourceEvents)
        case position(String)
        case gap(SourceGap, since: String)
    }

    private struct State {
        /// The last one that the session told.
        var token: String?
        /// What stands behind a gap that is being filled.
        var waiting: [Step] = []
        var filling: Task<Void, Never>?
        weak var session: MXSession?
    }

    private let intake: RelayIntake
    private let history: MatrixHistory
    private let gate = HoldGate()
    private let state: Lock<State>

    /// - Parameter token: From where the session goes on; nil if it begins.
    init(_ intake: RelayIntake, of session: MXSession, _ client: MXRestClient, since token: String?) {
        self.intake = intake
        history = MatrixHistory(client: client)
        state = Lock(State(token: token, session: session))
    }

    /// Returns when nothing more comes.
    func stop() async {
        let task = state.withLock { state in
            state.session = nil
            return state.filling
        }
        task?.cancel()
        gate.close()
        await task?.value
    }

    /// Leaves what the homeserver has there as long as it is held.
    func hold(_ isHeld: Bool) {
        gate.hold(isHeld)
        holdsChanged()
    }

    /// Goes by what holds when the I/O thread comes to it: of two changes the last has the last word.
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
        // Gaps are dated from when it was reached, not from when what waits has gone on.
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
            let isFilling = state.filling != nil
            if !isFilling {
                guard case .gap = step else { return (true, false) }
                state.filling = Task { [weak self] in await self?.goOn() }
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

    // MARK: What is left out

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

    /// Nil when nothing waits any more: what comes then need not wait, either.
    private func next() -> Step? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.filling = nil
            return nil
        }
    }

    /// - Returns: False if nothing more may be given: the session has ended.
    private func fill(_ gap: SourceGap, since token: String) async -> Bool {
        guard let end = gap.endPosition else { return true }
        let room = String(gap.channelName.dropFirst("matrix:".count))
        let ignored = state.withLock { $0.session }?.ignoredUsers ?? []
        let answer = await history.events(of: room, from: token, to: end) { [intake] trouble in
            intake.receive(SourceFailure(trouble, channelName: gap.channelName, willRetry: true))
        }
        guard !Task.isCancelled, let answer else { return false }
        if let failure = answer.failure {
            intake.receive(SourceFailure(failure, channelName: gap.channelName))
            intake.receive(gap)
        }
        let brought = broughtEvents()
        var events = SourceEvents()
        for event in answer.events where !brought.contains(event.eventId) {
            guard event.isState || !ignored.contains(event.sender) else { continue }
            events.append(event, to: gap.channelName)
        }
        intake.receive(events)
        return true
    }

    /// Ids of the events that stand behind the gap. Servers do not order a page of history as they order a sync.
    private func broughtEvents() -> Set<String> {
        var ids: Set<String> = []
        for case .events(let events) in state.withLock({ $0.waiting }) {
            ids.formUnion(events.batch(channelID: { _ in nil }).compactMap { $0.0.json["event_id"]?.string })
        }
        return ids
    }
}
