package import Basics
package import Realtime
import Transport

/// Decides when a session requests the next answer of `/sync`, and tracks its state.
///
/// The long poll is a connection of the ``ConnectionMachine``. Opening it is a first request that does not wait, each
/// answer proves that it is alive, and a ping is a request that does not wait and replaces the one that does.
///
/// Answers are applied one at a time. A cancelled request may still be applying its answer, so the next one is sent
/// when it has ended. Follow each ``Action/poll(_:)`` with ``answered(_:now:)`` or ``failed(_:_:now:)``, even after
/// ``Action/cancelPoll``.
package struct SyncLoop: Machine {
    package struct Configuration: Hashable, Sendable {
        package var connection = ConnectionMachine.Configuration()
        /// The time that the server may wait for events.
        package var pollTimeout = Duration.seconds(30)
        /// The minimum delay after an error from the homeserver.
        package var errorDelay = Duration.seconds(5)
        /// The maximum delay, whatever the homeserver asks for.
        package var maximumErrorDelay = Duration.seconds(300)
        /// The time after which a reader that blocks requests is reported.
        package var holdLimit = Duration.seconds(120)

        package init() {
            connection.connectTimeout = .seconds(120)  // silence allowed before a first sync, which may be large
            connection.pongTimeout = .seconds(30)
        }
    }

    /// A request to send. At most one is in progress, including cancelled ones.
    package struct Poll: Hashable, Sendable {
        package let number: Int
        /// The time that the server may wait.
        package let serverTimeout: Duration
        /// Whether to open a new connection, because kept-alive ones may be dead.
        package let needsFreshConnection: Bool

        package init(number: Int, serverTimeout: Duration, needsFreshConnection: Bool) {
            self.number = number
            self.serverTimeout = serverTimeout
            self.needsFreshConnection = needsFreshConnection
        }
    }

    /// The stage of a request. Silence counts only while the request is in progress, so that neither a busy process nor
    /// a slow disk is blamed on the homeserver.
    package enum Stage: Hashable, Sendable {
        /// Not sent yet.
        case prepared
        case underWay
        /// The whole answer was received and is being applied.
        case received
    }

    package enum Action: Hashable, Sendable {
        case poll(Poll)
        case cancelPoll
        /// A turn for a caller of ``borrow()``, until ``returned()``.
        case lend
        /// The answer was applied, and nothing more is known to be missing.
        case synced
        case changed(from: MXSessionState, to: MXSessionState)
        /// - Parameter retryAfter: The delay before a retry; `nil` if there is none.
        case failed(Problem, retryAfter: Duration?)
        /// No request was sent for a long time, because a reader is too slow.
        case held(message: String)
        /// Requests have resumed.
        case resumed(message: String)
    }

    package enum Problem: Hashable, Sendable {
        /// The homeserver could not be reached, or its answer was truncated.
        case unreachable
        /// The homeserver did not answer in time.
        case timedOut
        /// The homeserver answered with an error.
        case refused(retryAfter: Duration?)
        /// The homeserver no longer accepts the login.
        case unauthenticated
        /// The answer could not be stored.
        case notStored
    }

    package private(set) var state: MXSessionState
    /// Whether the first request since the start or a failure is in progress.
    package var isCatchingUp: Bool { connection.connectionState == .connecting }
    /// Whether the loop sends requests or is going to retry.
    package var isRunning: Bool { connection.connectionState != .disconnected }

    private let configuration: Configuration
    private var connection: ConnectionMachine
    private var actions: [Action] = []
    /// The current request: in progress, or waiting for its turn.
    private var poll: Poll?
    private var lastPoll = 0
    private var turn = Turn.free
    private var waitingBorrowers = 0
    /// Limits the rate of requests if a server answers long polls at once.
    private var pace = Pace(interval: .milliseconds(100), burst: 20)
    /// The time of the next request, after answers that came too quickly.
    private var nextPoll: MonotonicInstant?
    /// The readers that are too slow.
    private var holds = ReadingHolds()
    private var hasSynced: Bool
    /// The reason why the last attempt failed.
    private var problem = Problem.unreachable

    /// The owner of the current turn to fetch, apply and store an answer.
    private enum Turn: Hashable, Sendable {
        case free
        case poll(Int, Stage)
        case borrower

        /// The request whose turn it is.
        var poll: Int? { if case .poll(let number, _) = self { number } else { nil } }
    }

    /// - Parameters:
    ///   - state: The initial state.
    ///   - hasSynced: Whether a sync has succeeded before.
    package init(configuration: Configuration, state: MXSessionState, hasSynced: Bool, seed: UInt64) {
        self.configuration = configuration
        self.state = state
        self.hasSynced = hasSynced
        var connectionConfiguration = configuration.connection
        connectionConfiguration.activityTimeout = configuration.pollTimeout + .seconds(30)
        connection = ConnectionMachine(configuration: connectionConfiguration, seed: seed)
    }

    /// Whether silence counts against the homeserver.
    private var isSilenceCounted: Bool {
        guard let stage else { return true }
        return stage == .underWay
    }

    /// The stage of the current request; `nil` if it is not its turn.
    private var stage: Stage? {
        guard case .poll(let number, let stage) = turn, poll?.number == number else { return nil }
        return stage
    }

    package var nextDeadline: MonotonicInstant? {
        let silence = isSilenceCounted ? connection.nextDeadline : nil
        return [silence, nextPoll, holds.nextDeadline(limit: configuration.holdLimit)].compactMap { $0 }.min()
    }

    package mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    // MARK: Commands of the session

    /// Starts the loop, or retries at once if a retry is pending.
    package mutating func start(now: MonotonicInstant) { carryOut(connection.connect(now: now), now: now) }

    /// Stops sending requests and cancels the one in progress.
    package mutating func pause(now: MonotonicInstant) {
        problem = .unreachable
        carryOut(connection.disconnect(), now: now)
        move(to: .paused)
    }

    /// Cancels the request in progress and sends a new one at once.
    package mutating func reconnect(now: MonotonicInstant) {
        carryOut(connection.shutDown(), now: now, isQuiet: true)
        carryOut(connection.connect(now: now), now: now)
    }

    package mutating func close(now: MonotonicInstant) {
        carryOut(connection.shutDown(), now: now, isQuiet: true)
        move(to: .closed)
    }

    /// Stops sending requests on behalf of the sinks while `isHeld` is true. The request in progress continues.
    package mutating func hold(_ isHeld: Bool, now: MonotonicInstant) {
        holds.isHeldByOthers = isHeld
        askIfFree(now: now)
    }

    /// Stops sending requests until the reader is released. Reported if this takes long.
    package mutating func hold(for reader: EventReader, now: MonotonicInstant) { holds.hold(reader, now: now) }

    /// Reverts one ``hold(for:now:)``.
    package mutating func release(for reader: EventReader, now: MonotonicInstant) {
        if let end = holds.release(reader, now: now) { actions.append(.resumed(message: end.endMessage)) }
        askIfFree(now: now)
    }

    /// Sends a request if only a slow reader prevented it.
    private mutating func askIfFree(now: MonotonicInstant) {
        guard !holds.isHeld, poll == nil, nextPoll == nil, connection.connectionState == .connected else { return }
        connection.readingPaused(false, now: now)
        ask(timeout: configuration.pollTimeout)
    }

    /// Requests a turn between the requests, for a sync made elsewhere.
    package mutating func borrow() {
        waitingBorrowers += 1
        beginNext()
    }

    /// Ends a borrowed turn.
    package mutating func returned() {
        guard turn == .borrower else { return }
        turn = .free
        beginNext()
    }

    // MARK: Results

    /// Records that the request was sent, or that some or all of the answer arrived. Time-outs start again, or stop.
    package mutating func progressed(_ number: Int, to stage: Stage, now: MonotonicInstant) {
        guard case .poll(number, let last) = turn else { return }
        turn = .poll(number, stage)
        guard poll?.number == number, let id = connection.transport else { return }
        switch last {
        case .prepared: connection.asked(id, now: now)
        case .underWay, .received: connection.progressed(id, now: now)
        }
    }

    /// Records that the answer was received, applied and stored.
    package mutating func answered(_ number: Int, now: MonotonicInstant) {
        guard turn.poll == number else { return }
        turn = .free
        hasSynced = true
        guard poll?.number == number, let id = connection.transport else {  // cancelled meanwhile
            if state == .running { actions.append(.synced) }
            return beginNext()
        }
        poll = nil
        if connection.connectionState == .connecting {
            carryOut(connection.established(id, activityTimeout: nil, now: now), now: now)
        } else {
            connection.heard(id, now: now)
        }
        actions.append(.synced)
        nextPoll = pace.done(now: now)
        pollAgain(now: now)
        beginNext()
    }

    /// Sends the next poll if it is due and not on hold.
    private mutating func pollAgain(now: MonotonicInstant) {
        if let nextPoll, nextPoll > now { return }
        nextPoll = nil
        guard !holds.isHeld else { return connection.readingPaused(true, now: now) }
        ask(timeout: configuration.pollTimeout)
    }

    package mutating func failed(_ number: Int, _ problem: Problem, now: MonotonicInstant) {
        guard turn.poll == number else { return }
        turn = .free
        defer { beginNext() }
        guard poll?.number == number, let id = connection.transport else { return }
        (poll, nextPoll) = (nil, nil)
        self.problem = problem
        let disposition: ConnectionMachine.Disposition
        switch problem {
        case .unreachable, .timedOut: disposition = .backOff(atLeast: .zero)
        case .refused(let wait):
            let asked = min(wait ?? .zero, configuration.maximumErrorDelay)
            disposition = .backOff(atLeast: max(asked, configuration.errorDelay))
        case .notStored: disposition = .backOff(atLeast: configuration.errorDelay)
        case .unauthenticated: disposition = .stop
        }
        carryOut(connection.transportEnded(id, disposition: disposition, now: now), now: now)
    }

    // MARK: Time and network

    package mutating func timePassed(now: MonotonicInstant) {
        if isSilenceCounted { carryOut(connection.timePassed(now: now), now: now) }
        if nextPoll != nil { pollAgain(now: now) }
        for hold in holds.takeOverdue(limit: configuration.holdLimit, now: now) {
            actions.append(.held(message: hold.message))
        }
    }

    package mutating func networkLost(now: MonotonicInstant) {
        if stage == .received { return }  // the answer is complete
        carryOut(connection.networkLost(now: now), now: now)
    }

    package mutating func networkReturned(now: MonotonicInstant) {
        if stage == .received { return }  // the next request uses no earlier connection
        carryOut(connection.networkReturned(now: now), now: now)
    }

    // MARK: Steps

    /// - Parameter isQuiet: Whether the caller sets the state.
    private mutating func carryOut(_ orders: [ConnectionMachine.Action], now: MonotonicInstant, isQuiet: Bool = false) {
        for order in orders {
            switch order {
            case .open: ask(timeout: .zero, needsFreshConnection: lastPoll > 0)
            case .ping:
                giveUp()
                ask(timeout: .zero, needsFreshConnection: true)
            case .drop: giveUp()
            case .close(let id):
                giveUp()
                carryOut(connection.transportEnded(id, disposition: .stop, now: now), now: now, isQuiet: isQuiet)
            case .failed(let failure, let next):
                switch failure {
                case .transportEnded: break
                case .connectTimedOut, .pongTimedOut: problem = .timedOut
                }
                switch next {
                case .retry(let delay): actions.append(.failed(problem, retryAfter: delay))
                case .stop: actions.append(.failed(problem, retryAfter: nil))
                }
            case .changed(_, let new): if !isQuiet { moved(to: new) }
            }
        }
    }

    private mutating func ask(timeout: Duration, needsFreshConnection: Bool = false) {
        nextPoll = nil
        lastPoll += 1
        poll = Poll(number: lastPoll, serverTimeout: timeout, needsFreshConnection: needsFreshConnection)
        beginNext()
    }

    private mutating func giveUp() {
        nextPoll = nil
        guard let given = poll else { return }
        poll = nil
        if turn.poll == given.number { actions.append(.cancelPoll) }
    }

    /// Starts the next waiting turn if none is taken.
    private mutating func beginNext() {
        guard turn == .free else { return }
        if waitingBorrowers > 0 {
            waitingBorrowers -= 1
            turn = .borrower
            actions.append(.lend)
        } else if let poll {
            turn = .poll(poll.number, .prepared)
            actions.append(.poll(poll))
        }
    }

    private mutating func moved(to connectionState: ConnectionState) {
        switch connectionState {
        case .connecting: if failureState != state { move(to: .syncInProgress) }
        case .connected: move(to: .running)
        case .reconnecting: move(to: failureState)
        case .disconnecting: break
        case .disconnected:
            guard state != .closed, problem == .unauthenticated || state != .paused else { return }
            move(to: problem == .unreachable ? .paused : failureState)
        }
    }

    /// The state that keeps showing the reason while the loop retries.
    private var failureState: MXSessionState {
        guard hasSynced else { return .initialSyncFailed }
        switch problem {
        case .unreachable, .timedOut: return .homeserverNotReachable
        case .refused, .unauthenticated, .notStored: return .syncError
        }
    }

    private mutating func move(to new: MXSessionState) {
        guard new != state else { return }
        actions.append(.changed(from: state, to: new))
        state = new
    }
}
