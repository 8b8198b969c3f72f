package import Basics
package import Realtime
import Transport

/// When a session asks for the next answer of `/sync`, and what state it is in meanwhile.
///
/// The long poll is one connection of the ``ConnectionMachine``: opening it is a first request that does not wait, each
/// answer proves it alive, and a ping is a request that does not wait, in place of the one that does.
///
/// Answers are applied one at a time: a request that is given up may still be applying its own, so the next one is made
/// when it has ended. Each ``Action/poll(_:)`` is to be followed by ``answered(_:now:)`` or ``failed(_:_:now:)``, also after
/// ``Action/cancelPoll``.
package struct SyncLoop: Machine {
    package struct Configuration: Hashable, Sendable {
        package var connection = ConnectionMachine.Configuration()
        /// How long the server may wait for something to tell.
        package var pollTimeout = Duration.seconds(30)
        /// The shortest wait after an error of the homeserver's.
        package var errorDelay = Duration.seconds(5)
        /// The longest, whatever the homeserver asks for.
        package var maximumErrorDelay = Duration.seconds(300)
        /// A reader for whom nothing is asked for so long is reported.
        package var holdLimit = Duration.seconds(120)

        package init() {
            connection.connectTimeout = .seconds(120)  // of silence before a first sync, which may be large
            connection.pongTimeout = .seconds(30)
        }
    }

    /// One request to be made. At most one is under way, those that were given up included.
    package struct Poll: Hashable, Sendable {
        package let number: Int
        /// How long the server may wait.
        package let serverTimeout: Duration
        /// Connections that were kept alive may be dead.
        package let needsFreshConnection: Bool

        package init(number: Int, serverTimeout: Duration, needsFreshConnection: Bool) {
            self.number = number
            self.serverTimeout = serverTimeout
            self.needsFreshConnection = needsFreshConnection
        }
    }

    /// Where a request is that was ordered. Silence counts while it is under way: neither a busy process nor a slow disk
    /// is held against the homeserver.
    package enum Stage: Hashable, Sendable {
        /// Not with the network yet.
        case prepared
        case underWay
        /// The whole answer has come, and is being applied.
        case received
    }

    package enum Action: Hashable, Sendable {
        case poll(Poll)
        case cancelPoll
        /// It is the turn of somebody who asked for it with ``borrow()``, until ``returned()``.
        case lend
        /// The answer to a request was applied, and nothing more is known to be missing.
        case synced
        case changed(from: MXSessionState, to: MXSessionState)
        /// - Parameter retryAfter: Nil: it is not tried again.
        case failed(Problem, retryAfter: Duration?)
        /// Nothing has been asked for long, since somebody takes events too slowly.
        case held(message: String)
        /// That has ended.
        case resumed(message: String)
    }

    package enum Problem: Hashable, Sendable {
        /// The homeserver could not be reached, or its answer was cut.
        case unreachable
        /// It did not answer in time.
        case timedOut
        /// It answered with an error.
        case refused(retryAfter: Duration?)
        /// It does not accept the login any more.
        case unauthenticated
        /// The answer could not be stored.
        case notStored
    }

    package private(set) var state: MXSessionState
    /// Whether a request is under way that is the first since the start or a failure.
    package var isCatchingUp: Bool { connection.connectionState == .connecting }
    /// Whether it asks, or will try again.
    package var isRunning: Bool { connection.connectionState != .disconnected }

    private let configuration: Configuration
    private var connection: ConnectionMachine
    private var actions: [Action] = []
    /// The request whose answer counts: under way, or waiting for its turn.
    private var poll: Poll?
    private var lastPoll = 0
    private var turn = Turn.free
    private var waitingBorrowers = 0
    /// A server that answers long polls at once is not asked as fast as the network is.
    private var pace = Pace(interval: .milliseconds(100), burst: 20)
    /// When to ask again after answers that came too quickly.
    private var nextPoll: MonotonicInstant?
    /// Who takes events too slowly.
    private var holds = ReadingHolds()
    private var hasSynced: Bool
    /// Why the last attempt failed.
    private var problem = Problem.unreachable

    /// Whose answer is fetched, applied and stored.
    private enum Turn: Hashable, Sendable {
        case free
        case poll(Int, Stage)
        case borrower

        /// The request whose turn it is.
        var poll: Int? { if case .poll(let number, _) = self { number } else { nil } }
    }

    /// - Parameters:
    ///   - state: The one that it starts from.
    ///   - hasSynced: Whether some sync has succeeded before.
    package init(configuration: Configuration, state: MXSessionState, hasSynced: Bool, seed: UInt64) {
        self.configuration = configuration
        self.state = state
        self.hasSynced = hasSynced
        var connectionConfiguration = configuration.connection
        connectionConfiguration.activityTimeout = configuration.pollTimeout + .seconds(30)
        connection = ConnectionMachine(configuration: connectionConfiguration, seed: seed)
    }

    /// Whether silence is the homeserver's.
    private var isSilenceCounted: Bool {
        guard let stage else { return true }
        return stage == .underWay
    }

    /// Of the request whose answer counts; nil if it is not its turn.
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

    // MARK: What the session asks

    /// Starts, or tries again at once if a retry is waited for.
    package mutating func start(now: MonotonicInstant) { carryOut(connection.connect(now: now), now: now) }

    /// Stops asking. What is under way is given up.
    package mutating func pause(now: MonotonicInstant) {
        problem = .unreachable
        carryOut(connection.disconnect(), now: now)
        move(to: .paused)
    }

    /// Gives up what is under way and asks anew at once.
    package mutating func reconnect(now: MonotonicInstant) {
        carryOut(connection.shutDown(), now: now, isQuiet: true)
        carryOut(connection.connect(now: now), now: now)
    }

    package mutating func close(now: MonotonicInstant) {
        carryOut(connection.shutDown(), now: now, isQuiet: true)
        move(to: .closed)
    }

    /// Asks for no more as long as `isHeld`, for the sinks; what is under way goes on.
    package mutating func hold(_ isHeld: Bool, now: MonotonicInstant) {
        holds.isHeldByOthers = isHeld
        askIfFree(now: now)
    }

    /// The same for a reader, until it lets go. Reported if that takes long.
    package mutating func hold(for reader: EventReader, now: MonotonicInstant) { holds.hold(reader, now: now) }

    /// Takes back one ``hold(for:now:)``.
    package mutating func release(for reader: EventReader, now: MonotonicInstant) {
        if let end = holds.release(reader, now: now) { actions.append(.resumed(message: end.endMessage)) }
        askIfFree(now: now)
    }

    /// Asks, if nothing but somebody slow was in the way.
    private mutating func askIfFree(now: MonotonicInstant) {
        guard !holds.isHeld, poll == nil, nextPoll == nil, connection.connectionState == .connected else { return }
        connection.readingPaused(false, now: now)
        ask(timeout: configuration.pollTimeout)
    }

    /// Asks for a turn between the requests, for a sync of somebody else's.
    package mutating func borrow() {
        waitingBorrowers += 1
        beginNext()
    }

    /// That sync has ended.
    package mutating func returned() {
        guard turn == .borrower else { return }
        turn = .free
        beginNext()
    }

    // MARK: What comes back

    /// The request has gone out, some of the answer has come, or all of it: time-outs count from here, or no more.
    package mutating func progressed(_ number: Int, to stage: Stage, now: MonotonicInstant) {
        guard case .poll(number, let last) = turn else { return }
        turn = .poll(number, stage)
        guard poll?.number == number, let id = connection.transport else { return }
        switch last {
        case .prepared: connection.asked(id, now: now)
        case .underWay, .received: connection.progressed(id, now: now)
        }
    }

    /// The answer was received, applied and stored.
    package mutating func answered(_ number: Int, now: MonotonicInstant) {
        guard turn.poll == number else { return }
        turn = .free
        hasSynced = true
        guard poll?.number == number, let id = connection.transport else {  // given up since
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

    /// The next poll, if it is time for it and nobody holds it.
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
        if stage == .received { return }  // all of it is here
        carryOut(connection.networkLost(now: now), now: now)
    }

    package mutating func networkReturned(now: MonotonicInstant) {
        if stage == .received { return }  // the next request uses no connection from before
        carryOut(connection.networkReturned(now: now), now: now)
    }

    // MARK: Steps

    /// - Parameter isQuiet: The state is set by the caller.
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

    /// Whoever waits begins, if it is nobody's turn.
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

    /// While it is tried again, the state goes on to say why.
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
