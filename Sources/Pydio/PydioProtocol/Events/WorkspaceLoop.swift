package import Basics
package import Realtime
import Transport

/// Decides when and how to request a workspace's events: the order of requests, polls, the WebSocket, the back-off.
///
///     start ─ discover ─ register ─ consume ─┬─ list ─────────┬─ connected: consume … consume …
///                                            └─ read changes ─┘      └─ a WebSocket takes over
///
/// The series of requests is the opening of a connection of the ``ConnectionMachine``: each answer proves that it is
/// alive, and a failure ends it. The mailbox is opened before the workspace is listed, so that no change in between is
/// missed. The WebSocket is a second such connection, which may fail: polls then replace it. Only one request runs at a
/// time.
package struct WorkspaceLoop: Sendable {
    let configuration: Configuration
    var connection: ConnectionMachine
    var socket: ConnectionMachine
    var services: WorkspaceServices?
    var needs = Needs()
    var turn = Turn()
    var knowledge = Knowledge.none
    private var feed = Feed.unused
    var messenger = Messenger.mailbox
    var mailbox = Mailbox()
    /// Whether a failure of the WebSocket was reported, which happens once until it works again.
    var hasToldOfSocket = false
    /// The holds of slow readers.
    private var readingHolds = ReadingHolds()
    private var problem = Problem.unreachable
    var jitter: JitterGenerator

    package init(configuration: Configuration, seed: UInt64) {
        self.configuration = configuration
        connection = ConnectionMachine(configuration: configuration.connection, seed: seed)
        socket = ConnectionMachine(configuration: configuration.socket, seed: seed &+ 1)
        jitter = JitterGenerator(seed: seed &+ 2)
    }

    package var state: ConnectionState { connection.connectionState }

    package var nextDeadline: MonotonicInstant? {
        let isFree = turn.isFree && !isHeld
        let poll = isFree && state == .connected ? mailbox.nextPoll.map { max($0, turn.notBefore ?? $0) } : nil
        let next = isFree ? turn.notBefore : nil
        return [
            connection.nextDeadline, socket.nextDeadline, poll, next,
            readingHolds.nextDeadline(limit: configuration.holdLimit),
        ].compactMap { $0 }.min()
    }

    /// Whether no event is known to be missing.
    package var isUpToDate: Bool {
        state == .connected && needs.isEmpty && !knowledge.isComparing && !turn.isCatchingUp
    }

    /// Returns whether the answer to this step counts.
    package func isUnderWay(_ number: Int) -> Bool { turn.number == number }

    /// Whether to use the change log, as far as known.
    package var readsFeed: Bool { feed != .unused }

    var isHeld: Bool { readingHolds.isHeld }

    var isSocketLive: Bool { messenger == .socket }

    // MARK: Calls from the application

    /// Starts, or retries at once if a retry is pending.
    package mutating func start(now: MonotonicInstant) -> [Action] {
        carryOut(connection.connect(now: now), now: now) + proceed(now: now)
    }

    /// Stops requests, and abandons the current one.
    package mutating func pause(now: MonotonicInstant) -> [Action] {
        carryOut(connection.disconnect(), now: now)
    }

    /// Stops requests while `isHeld` is true, for the sinks; the current request continues.
    package mutating func hold(_ isHeld: Bool, now: MonotonicInstant) -> [Action] {
        let wasHeld = self.isHeld
        readingHolds.isHeldByOthers = isHeld
        return holdsChanged(from: wasHeld, now: now)
    }

    /// Stops requests for a reader, until it releases its hold. Reports a long hold.
    package mutating func hold(for reader: EventReader, now: MonotonicInstant) -> [Action] {
        let wasHeld = isHeld
        readingHolds.hold(reader, now: now)
        return holdsChanged(from: wasHeld, now: now)
    }

    /// Releases one ``hold(for:now:)``.
    package mutating func release(for reader: EventReader, now: MonotonicInstant) -> [Action] {
        let wasHeld = isHeld
        let end = readingHolds.release(reader, now: now).map { end in
            Action.resumed(message: end.endMessage, after: end.duration)
        }
        return [end].compactMap { $0 } + holdsChanged(from: wasHeld, now: now)
    }

    private mutating func holdsChanged(from wasHeld: Bool, now: MonotonicInstant) -> [Action] {
        guard isHeld != wasHeld else { return [] }
        connection.readingPaused(isHeld, now: now)
        var actions: [Action] = []
        if socket.connectionState == .connected {
            socket.readingPaused(isHeld, now: now)
            actions.append(.pauseSocket(isHeld))
        }
        return actions + proceed(now: now)
    }

    /// Makes a request at once.
    package mutating func check(now: MonotonicInstant) -> [Action] {
        mailbox.nextPoll = now
        if readsFeed, state == .connected { needs.changes = true }
        return proceed(now: now)
    }

    // MARK: Answers

    /// Handles a successful request whose answer has been reported.
    package mutating func succeeded(_ number: Int, _ outcome: Outcome, now: MonotonicInstant) -> [Action] {
        guard let id = connection.transport, let step = turn.end(number) else { return [] }
        connection.heard(id, now: now)
        switch outcome {
        case .discovered(let services):
            guard let actions = discovered(services, now: now) else { return stop(.silent, now: now) }
            return actions + proceed(now: now)
        case .registered: break
        case .consumed(let isWoken, let isStale, let isSuspect):
            mailbox = Mailbox(nextPoll: pollTime(now: now), lastConsumed: turn.lastBegan ?? now)
            if isStale { needs.discovery = true }
            if knowledge.isComparing, step == .consume(.everything), !isSuspect { knowledge = .known }
            if isSuspect, step == .consume(.everything) || step == .consumeLast { missed(isGap: false) }
            if isWoken, readsFeed { needs.changes = true }
            if step == .consumeLast, !isSuspect {
                // The mailbox is abandoned: newer messages are lost if the socket is also gone.
                guard socket.connectionState == .connected, let id = socket.transport, messenger == .handingOver(to: id)
                else {
                    messenger = .mailbox
                    missed(isGap: true)
                    return proceed(now: now)
                }
                messenger = .socket
                // For changes from before it was registered.
                if readsFeed { needs.changes = true }
                return [.socketTakesOver] + proceed(now: now)
            }
        case .listed:
            // Changes during the listing are in the mailbox, and must not be reported as missed.
            if case .list(.compare) = step, !readsFeed {
                needs.drain = true
                knowledge = .comparing(knowledge.loss)
            } else {
                knowledge = .known
            }
        case .changesRead(let isReset):
            needs.isFarBehind = isReset
            if isReset {
                needs.changes = true
                knowledge = .missed
                needs.listing = .compare(.certain)
            } else if knowledge == .none {
                knowledge = .known
            } else if feed == .used(lastRead: nil) {
                // The knowledge comes from a listing: changes since then are not in the log, which begins here.
                needs.listing = .compare(knowledge.loss)
            }
            feed = .used(lastRead: now)
            if services?.hasMailbox != true { mailbox.nextPoll = pollTime(now: now) }
        }
        return proceed(now: now)
    }

    package mutating func failed(_ number: Int, _ problem: Problem, now: MonotonicInstant) -> [Action] {
        guard let id = connection.transport, let step = turn.end(number) else { return [] }
        answerLost(to: step)
        self.problem = problem
        let disposition: ConnectionMachine.Disposition
        switch problem {
        case .withoutFeed where feed == .used(lastRead: nil):
            guard services?.hasMailbox == true else { return stop(.silent, now: now) }
            feed = .unused
            (needs.changes, needs.isFarBehind) = (false, false)
            // The mailbox is consumed again: its messages must count.
            let actions = handBack()
            missed(isGap: true)
            return actions + proceed(now: now)
        case .unreachable, .timedOut: disposition = .backOff(atLeast: .zero)
        case .refused, .withoutFeed: disposition = .backOff(atLeast: configuration.errorDelay)
        case .unauthenticated, .unusable, .silent: disposition = .stop
        }
        return carryOut(connection.transportEnded(id, disposition: disposition, now: now), now: now)
    }

    private mutating func stop(_ problem: Problem, now: MonotonicInstant) -> [Action] {
        guard let id = connection.transport else { return [] }
        self.problem = problem
        return carryOut(connection.transportEnded(id, disposition: .stop, now: now), now: now)
    }

    /// - Returns: `nil` if the server doesn't report changes.
    private mutating func discovered(_ services: WorkspaceServices, now: MonotonicInstant) -> [Action]? {
        self.services = services
        guard services.hasMailbox || services.hasFeed && configuration.usesFeed else { return nil }
        let readFeed = readsFeed
        if !(services.hasFeed && configuration.usesFeed) {
            feed = .unused
        } else if !readFeed {
            feed = .used(lastRead: nil)
        }
        guard state == .connecting else {
            if readsFeed && !readFeed { (needs.changes, needs.isFarBehind) = (true, true) }
            guard readFeed && !readsFeed else { return [] }
            let actions = handBack()
            missed(isGap: true)
            return actions
        }
        needs.registration = services.hasMailbox
        needs.drain = services.hasMailbox
        if readsFeed {
            (needs.changes, needs.isFarBehind) = (true, true)
            // The log was reset, and it is not known yet what was missed.
            if knowledge.loss == .certain { needs.listing = .compare(.certain) }
        } else {
            if isMailboxExpired(now: now) { knowledge.missed(isGap: true) }
            needs.listing = knowledge == .none ? .base : .compare(knowledge.loss)
        }
        return []
    }

    // MARK: Time and network

    package mutating func timePassed(now: MonotonicInstant) -> [Action] {
        turn.timePassed(now: now)
        return carryOut(connection.timePassed(now: now), now: now)
            + carryOutSocket(socket.timePassed(now: now), now: now) + proceed(now: now)
            + readingHolds.takeOverdue(limit: configuration.holdLimit, now: now).map { .held(message: $0.message) }
    }

    package mutating func networkLost(now: MonotonicInstant) -> [Action] {
        carryOut(connection.networkLost(now: now), now: now) + carryOutSocket(socket.networkLost(now: now), now: now)
            + proceed(now: now)
    }

    package mutating func networkReturned(now: MonotonicInstant) -> [Action] {
        carryOut(connection.networkReturned(now: now), now: now)
            + carryOutSocket(socket.networkReturned(now: now), now: now) + proceed(now: now)
    }

    // MARK: Next steps

    /// Makes the next request that is due, if none is running.
    mutating func proceed(now: MonotonicInstant) -> [Action] {
        guard turn.isFree, !isHeld, let id = connection.transport, connection.isReceiving(from: id) else { return [] }
        var actions: [Action] = []
        if state == .connecting, needs.isEmpty {
            actions += carryOut(connection.established(id, activityTimeout: nil, now: now), now: now)
            if mailbox.nextPoll == nil { mailbox.nextPoll = pollTime(now: now) }
        }
        if state == .connected { actions += openSocketIfNeeded(now: now) }
        if let notBefore = turn.notBefore, notBefore > now { return actions }
        guard let next = dueStep(now: now) else { return actions }
        begin(next)
        return actions + [.perform(next, number: turn.begin(next, now: now))]
    }

    /// Begins a step. Requests made meanwhile count as new.
    private mutating func begin(_ step: Step) {
        switch step {
        case .discover: needs.discovery = false
        case .register: needs.registration = false
        case .consume: needs.drain = false
        case .consumeLast: messenger = socket.transport.map { .handingOver(to: $0) } ?? .mailbox
        case .list: needs.listing = nil
        case .readChanges: needs.changes = false
        }
    }

    private mutating func dueStep(now: MonotonicInstant) -> Step? {
        if needs.discovery { return .discover }
        if state == .connected, let nextPoll = mailbox.nextPoll, nextPoll <= now { pollIsDue(now: now) }
        if isMailboxMissed(now: now) {
            mailbox.nextPoll = nil
            missed(isGap: true)
        }
        if needs.registration { return .register }
        if needs.drain { return .consume(drainPurpose(now: now)) }
        if let listing = needs.listing { return .list(listing) }
        if needs.changes { return .readChanges(isFlattened: needs.isFarBehind) }
        guard state == .connected else { return nil }
        if socket.connectionState == .connected, !isSocketLive { return .consumeLast }
        guard let nextPoll = mailbox.nextPoll, nextPoll <= now, !isSocketLive else { return nil }
        return .consume(.everything)
    }

    /// Returns how to use a mailbox's messages: a new mailbox may contain old messages that wait for other clients.
    private func drainPurpose(now: MonotonicInstant) -> WorkspaceModel.Purpose {
        switch knowledge {
        case .none: .nothing
        case .comparing: .everything
        case .suspected, .missed: .allButNodes
        case .known: isMailboxExpired(now: now) ? .allButNodes : .everything
        }
    }

    private mutating func pollIsDue(now: MonotonicInstant) {
        switch feed {
        case .unused: break
        case .used(let lastRead):
            let isTime = lastRead.map { now - $0 >= configuration.feedInterval } ?? true
            if isTime || services?.hasMailbox != true { needs.changes = true }
        }
        if services?.hasMailbox != true || isSocketLive {
            // The socket triggers reads; the log is also read at intervals.
            mailbox.nextPoll = readsFeed ? now + (isSocketLive ? configuration.feedInterval : pollInterval) : nil
        }
    }

    /// Records that messages of the mailbox or the socket may be lost.
    mutating func missed(isGap: Bool) {
        guard services?.hasMailbox == true else {
            if readsFeed { (needs.changes, needs.isFarBehind) = (true, true) }
            return
        }
        (needs.registration, needs.drain) = (true, true)
        if readsFeed {
            knowledge.comparisonEnds()
            (needs.changes, needs.isFarBehind) = (true, true)
        } else {
            knowledge.missed(isGap: isGap)
            needs.listing = knowledge == .none ? .base : .compare(knowledge.loss)
        }
    }

    // MARK: Steps

    private mutating func carryOut(_ orders: [ConnectionMachine.Action], now: MonotonicInstant) -> [Action] {
        var actions: [Action] = []
        for order in orders {
            switch order {
            case .open:
                needs = Needs(discovery: true)
                knowledge.comparisonEnds()
                mailbox.nextPoll = nil
            case .ping(let id):
                // The current request is proof enough; if there is only the socket, ask it directly.
                if isSocketLive, !readsFeed { connection.heard(id, now: now) } else { mailbox.nextPoll = now }
            case .drop: actions += giveUp()
            case .close(let id):
                actions += giveUp()
                actions += carryOut(connection.transportEnded(id, disposition: .stop, now: now), now: now)
            case .failed(let failure, let next):
                switch failure {
                case .transportEnded: break
                case .connectTimedOut, .pongTimedOut: problem = .timedOut
                }
                switch next {
                case .retry(let delay): actions.append(.failed(problem, retryAfter: delay))
                case .stop: actions.append(.failed(problem, retryAfter: nil))
                }
            case .changed(let old, let new):
                actions.append(.changed(from: old, to: new))
                switch new {
                case .disconnected: actions += endSocket()
                case .reconnecting: actions += handBack()
                case .connecting, .connected, .disconnecting: break
                }
            }
        }
        return actions
    }

    private mutating func giveUp() -> [Action] {
        guard let step = turn.giveUp() else { return [] }
        answerLost(to: step)
        return [.cancelStep]
    }

    /// Handles a lost answer: a mailbox deletes the messages that it sends.
    private mutating func answerLost(to step: Step) {
        switch step {
        case .consume, .consumeLast: if !readsFeed { knowledge.missed(isGap: false) }
        case .discover, .register, .list, .readChanges: break
        }
    }
}
