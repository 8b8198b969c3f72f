import Basics
import CurlTransport
import Foundation
import MatrixSDK
import Realtime

/// Takes the events of a session, and puts what a sync left out in its place.
///
/// A sync brings no more than so many events of a room. Those before them are asked for, oldest first, and all that comes
/// meanwhile waits, so that readers see each room in order.
final class MatrixIntake: RealtimeEventSink {
    /// Events of an answer, and answers for one gap: a homeserver that has more, or says so for ever, leaves a gap.
    private static let pageSize = 100
    private static let maximumPages = 1000
    private static let pause = Duration.seconds(1)
    private static let maximumPause = Duration.seconds(30)

    private enum Step: Sendable {
        case events(SourceEvents)
        case position(String)
        case gap(SourceGap, since: String)
    }

    private struct State {
        /// To where all has come.
        var token: String?
        /// What stands behind a gap that is being filled.
        var waiting: [Step] = []
        /// Ids of the events in it.
        var waitingIDs: Set<String> = []
        var filling: Task<Void, Never>?
        weak var session: MXSession?
    }

    private let intake: RelayIntake
    private let client: MXRestClient
    private let gate = HoldGate()
    private let state: Lock<State>

    /// - Parameter token: From where the session goes on; nil if it begins.
    init(_ intake: RelayIntake, of session: MXSession, _ client: MXRestClient, since token: String?) {
        (self.intake, self.client) = (intake, client)
        state = Lock(State(token: token, session: session))
    }

    /// Nothing more comes.
    func stop() {
        let task = state.withLock { state in
            defer { state.session = nil }
            return state.filling
        }
        task?.cancel()
        gate.hold(false)
    }

    /// Leaves what the homeserver has there as long as it is held.
    func hold(_ isHeld: Bool) {
        gate.hold(isHeld)
        holdsChanged()
    }

    /// In a place of its own, by what holds then: of two changes the last has the last word.
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
        take(.position(position))
    }

    func receive(_ gap: SourceGap) {
        guard let token = state.withLock({ $0.token }) else { return intake.receive(gap) }
        take(.gap(gap, since: token))
    }

    func receive(_ failure: SourceFailure) { intake.receive(failure) }

    func receive(_ state: SourceState) { intake.receive(state) }

    private func take(_ step: Step) {
        var ids: [String] = []
        if case .events(let events) = step, state.withLock({ $0.filling != nil }) { ids = Self.ids(of: events) }
        let (passes, begins) = state.withLock { state in
            let isFilling = state.filling != nil
            if !isFilling {
                guard case .gap = step else { return (true, false) }
                state.filling = Task { [weak self] in await self?.goOn() }
            }
            state.waiting.append(step)
            state.waitingIDs.formUnion(ids)
            return (false, !isFilling)
        }
        if passes { pass(step) }
        if begins { holdsChanged() }
    }

    private static func ids(of events: SourceEvents) -> [String] {
        events.batch(channelID: { _ in nil }).compactMap { $0.0.json["event_id"]?.string }
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
            if case .gap(let gap, let token) = step, await fill(gap, since: token) { continue }
            guard !Task.isCancelled else { return }
            pass(step)
        }
        holdsChanged()
    }

    /// Nil when nothing waits any more: what comes then need not wait, either.
    private func next() -> Step? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            (state.filling, state.waitingIDs) = (nil, [])
            return nil
        }
    }

    /// - Returns: False if something is missing.
    private func fill(_ gap: SourceGap, since token: String) async -> Bool {
        let room = String(gap.channelName.dropFirst("matrix:".count))
        var (token, pause) = (token, Self.pause)
        for _ in 0..<Self.maximumPages {
            await gate.waitUntilReleased()
            guard !Task.isCancelled else { return false }
            do {
                let page = try await client.messages(
                    forRoom: room, from: token, direction: .forwards, limit: Self.pageSize)
                pause = Self.pause
                let known = state.withLock { $0.waitingIDs }
                let new = page.chunk.prefix { !known.contains($0.eventId) }
                var events = SourceEvents()
                for event in new { events.append(event, to: gap.channelName) }
                pass(.events(events))
                guard new.count == page.chunk.count, let end = page.end, end != token else { return true }
                token = end
            } catch let error where Self.mayPass(error) {
                guard (try? await Task.sleep(for: pause)) != nil else { return false }
                pause = min(pause * 2, Self.maximumPause)
            } catch {
                guard !Task.isCancelled else { return false }
                let what = "cannot read what a sync left out of \(room): \(error)"
                receive(SourceFailure(what, channelName: gap.channelName))
                return false
            }
        }
        receive(SourceFailure("a sync left too much out of \(room) to read it all", channelName: gap.channelName))
        return false
    }

    private static func mayPass(_ error: any Error) -> Bool {
        switch error {
        case let error as MatrixError: error.isRetryable
        case let error as MXError: error.status == 429 || error.status >= 500
        default: false
        }
    }
}
