package import Basics
package import Realtime
package import Transport

/// A workspace as a source of events: ``WorkspaceLoop`` says what is asked when, ``WorkspaceModel`` what of the answers is
/// news, and this joins the two.
///
///     answers, messages ──► model ──► events, gaps ──► the application
///                    └────► loop ──► requests, WebSocket
///
/// One request is under way at a time. One that was given up may still change what the server keeps for this client, so
/// the next is made when it has ended: each ``Action/perform(_:)`` is to be followed by ``answered(_:_:now:)`` or
/// ``failed(_:_:now:)``, also after ``Action/cancelStep``.
package struct WorkspaceMachine: Machine {
    package struct Request: Hashable, Sendable {
        package let number: Int
        package let step: WorkspaceLoop.Step
        /// The place in the log of changes; nil is the beginning, for all that there is.
        package let sequence: Int64?
        /// Whether what is in the bin counts.
        package let includesBin: Bool
    }

    /// What came of a request.
    package enum Answer: Sendable {
        case services(WorkspaceServices)
        case registered
        /// - Parameter generation: Tells one session from another.
        case messages([ChannelMessage], generation: Int)
        /// Nil is more than can be remembered.
        case listing(NodeIndex?)
        case changes(PydioChangesResponse)
    }

    package enum Action: Sendable {
        case perform(Request)
        case cancelStep
        /// Closes the mailbox: nobody consumes it any more.
        case unregister
        case openSocket(ConnectionMachine.TransportID, WorkspaceServices.WebSocket)
        case pingSocket(ConnectionMachine.TransportID)
        case dropSocket(ConnectionMachine.TransportID)
        /// While it is true nothing is read from it.
        case pauseSocket(Bool)
        case tell([PydioEvent])
        /// Something may have been missed in this time.
        case gap(from: MonotonicInstant, to: MonotonicInstant)
        /// The place in the log of changes up to which everything was told.
        case sequence(Int64)
        case changed(ConnectionState)
        /// - Parameter retryAfter: Nil: it is not tried again.
        case failed(WorkspaceLoop.Problem, retryAfter: Duration?)
        /// Polls take its place.
        case socketFailed(retryAfter: Duration?)
        /// Nothing has been asked for long, since somebody takes events too slowly.
        case held(message: String)
        /// That has ended.
        case resumed(message: String)
    }

    private var loop: WorkspaceLoop
    private var model: WorkspaceModel
    private var frames = SocketFrames()
    private var actions: [Action] = []
    private var mailbox = Mailbox()
    /// Under way, though it may have been given up.
    private var current: Request?
    /// Waits for the end of that one.
    private var waiting: Request?
    /// Whether a listing that is to be compared is one after a gap.
    private var isGapCertain = false
    /// When something was heard last before anything was missed.
    private var lastHeard: MonotonicInstant

    /// What is known of the mailbox that the server keeps.
    private struct Mailbox: Hashable, Sendable {
        var isOpen = false
        /// The session in which it was consumed last.
        var generation: Int?
        /// A request that opens it failed: the server may still carry it out, whatever takes its place meanwhile.
        var isInDoubt = false
        /// It is to be closed when nothing is under way.
        var isToBeClosed = false
    }

    package init(
        loop: WorkspaceLoop.Configuration, model: WorkspaceModel.Configuration, seed: UInt64, now: MonotonicInstant
    ) {
        self.loop = WorkspaceLoop(configuration: loop, seed: seed)
        self.model = WorkspaceModel(model)
        lastHeard = now
    }

    package var state: ConnectionState { loop.state }

    /// Whether nothing is missing as far as is known.
    package var isUpToDate: Bool { loop.isUpToDate }

    /// Whether the answer to this request counts.
    package func isUnderWay(_ number: Int) -> Bool { loop.isUnderWay(number) }

    package var nextDeadline: MonotonicInstant? { loop.nextDeadline }

    package mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    // MARK: What the application asks

    /// Starts, or tries again at once if a retry is waited for.
    package mutating func start(now: MonotonicInstant) { carryOut(loop.start(now: now), now: now) }

    /// Asks no more. What is under way is given up.
    package mutating func pause(now: MonotonicInstant) { carryOut(loop.pause(now: now), now: now) }

    /// Asks at once.
    package mutating func check(now: MonotonicInstant) { carryOut(loop.check(now: now), now: now) }

    /// Asks no more as long as `isHeld`, for the sinks; what is under way goes on.
    package mutating func hold(_ isHeld: Bool, now: MonotonicInstant) {
        carryOut(loop.hold(isHeld, now: now), now: now)
        beginNext()
    }

    /// The same for a reader, until it lets go. Reported if that takes long.
    package mutating func hold(for reader: EventReader, now: MonotonicInstant) {
        carryOut(loop.hold(for: reader, now: now), now: now)
    }

    /// Takes back one ``hold(for:now:)``.
    package mutating func release(for reader: EventReader, now: MonotonicInstant) {
        carryOut(loop.release(for: reader, now: now), now: now)
        beginNext()
    }

    /// Ends everything. A mailbox that is open is closed.
    package mutating func close(now: MonotonicInstant) {
        if mailbox.isOpen || mailbox.isInDoubt {
            (mailbox.isOpen, mailbox.isInDoubt, mailbox.isToBeClosed) = (false, false, true)
        }
        carryOut(loop.pause(now: now), now: now)
        beginNext()
    }

    // MARK: What comes back

    package mutating func answered(_ number: Int, _ answer: Answer, now: MonotonicInstant) {
        guard let request = end(number) else { return beginNext() }
        let outcome = take(answer, of: request.step, now: now)
        carryOut(loop.succeeded(number, outcome, now: now), now: now)
        heard(now: now)
        beginNext()
    }

    package mutating func failed(_ number: Int, _ problem: WorkspaceLoop.Problem, now: MonotonicInstant) {
        if let current, current.number == number {
            if problem == .unauthenticated {
                // Nobody is let in to close it, and to try would be one more login that is refused.
                (mailbox.isOpen, mailbox.isInDoubt, mailbox.isToBeClosed) = (false, false, false)
            } else if current.step.usesMailbox {
                mailbox.isInDoubt = true
            }
        }
        if end(number) != nil { carryOut(loop.failed(number, problem, now: now), now: now) }
        beginNext()
    }

    /// - Returns: The request, unless it was given up.
    private mutating func end(_ number: Int) -> Request? {
        guard let request = current, request.number == number else { return nil }
        current = nil
        return loop.isUnderWay(number) ? request : nil
    }

    /// Tells what is news of an answer.
    private mutating func take(
        _ answer: Answer, of step: WorkspaceLoop.Step, now: MonotonicInstant
    ) -> WorkspaceLoop.Outcome {
        switch answer {
        case .services(let services): return .discovered(services)
        case .registered: return .registered
        case .messages(let messages, let generation):
            let isSuspect = mailbox.generation.map { $0 != generation } ?? false
            mailbox.generation = generation
            var purpose = WorkspaceModel.Purpose.everything
            if case .consume(let given) = step { purpose = given }
            // Something may be missing before these.
            if isSuspect, purpose == .everything { purpose = .allButNodes }
            let taken = model.consumed(messages, for: purpose)
            if let comparison = taken.comparison { tell(comparison, now: now) }
            tell(taken.events)
            // The answer says when the WebSocket brings nothing any more that was in the mailbox as well.
            if let id = loop.openSocket { actions.append(.pingSocket(id)) }
            return .consumed(isWoken: taken.isWoken, isStale: taken.isRegistryStale, isSuspect: isSuspect)
        case .listing(let index):
            guard case .list(.compare(let loss)) = step else {
                model.listed(index)
                return .listed
            }
            isGapCertain = loss == .certain
            if loop.readsFeed {
                tell(model.compared(index), now: now)
            } else {
                model.listedForComparison(index, isLossSuspected: loss == .suspected)
            }
            return .listed
        case .changes(let response):
            let isReset = model.sequence != nil && response.isReset
            let events = model.read(response)
            // Before them: who hears of one can keep the place.
            if let sequence = model.sequence { actions.append(.sequence(sequence)) }
            tell(events)
            return .changesRead(isReset: isReset)
        }
    }

    private mutating func tell(_ comparison: WorkspaceModel.Comparison, now: MonotonicInstant) {
        if isGapCertain || comparison.isGap || comparison.events?.isEmpty != true {
            actions.append(.gap(from: lastHeard, to: now))
        }
        tell(comparison.events ?? [])
    }

    private mutating func tell(_ events: [PydioEvent]) {
        if !events.isEmpty { actions.append(.tell(events)) }
    }

    private mutating func heard(now: MonotonicInstant) {
        if loop.isUpToDate { lastHeard = now }
    }

    // MARK: WebSocket

    /// A part of a message came.
    package mutating func socketHeard(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) {
        carryOut(loop.socketHeard(id, isProof: false, now: now), now: now)
        heard(now: now)
    }

    /// The newest ping was answered: what the server sent before that is here.
    package mutating func socketAnswered(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) {
        guard loop.isReceiving(from: id) else { return }
        model.socketAnswered()
        let isMissing = frames.answered()
        carryOut(loop.socketHeard(id, now: now), now: now)
        if isMissing { carryOut(loop.socketMissed(id, now: now), now: now) }
        heard(now: now)
    }

    package mutating func socketReceived(
        _ messages: WebSocketMessages, from id: ConnectionMachine.TransportID, now: MonotonicInstant
    ) {
        guard loop.isReceiving(from: id) else { return }
        var news: [ChannelMessage] = []
        var isMissing = false
        for message in messages {
            switch message {
            case .text(let bytes):
                switch frames.received(bytes) {
                case .messages(let messages): news += messages
                case .incomplete: break
                case .lost(let messages):
                    isMissing = true
                    news += messages
                }
            case .binary: break
            case .oversized: isMissing = true
            }
        }
        let taken = model.socketReceived(news)
        tell(taken.events)
        carryOut(
            loop.socketHeard(id, isWoken: taken.isWoken, isStale: taken.isRegistryStale, now: now), now: now)
        if isMissing { carryOut(loop.socketMissed(id, now: now), now: now) }
        heard(now: now)
    }

    /// It is gone.
    package mutating func socketEnded(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) {
        if loop.isReceiving(from: id) { model.socketClosed() }
        carryOut(loop.socketEnded(id, now: now), now: now)
    }

    // MARK: Time and network

    package mutating func timePassed(now: MonotonicInstant) { carryOut(loop.timePassed(now: now), now: now) }

    package mutating func networkLost(now: MonotonicInstant) { carryOut(loop.networkLost(now: now), now: now) }

    package mutating func networkReturned(now: MonotonicInstant) { carryOut(loop.networkReturned(now: now), now: now) }

    // MARK: Orders

    private mutating func carryOut(_ orders: [WorkspaceLoop.Action], now: MonotonicInstant) {
        for order in orders {
            switch order {
            case .perform(let step, let number): prepare(step, number)
            case .cancelStep: giveUp()
            case .openSocket(let id, let webSocket):
                model.socketOpened()
                frames.clear()
                actions.append(.openSocket(id, webSocket))
            case .pingSocket(let id): actions.append(.pingSocket(id))
            case .dropSocket(let id):
                model.socketClosed()
                actions.append(.dropSocket(id))
            case .pauseSocket(let isPaused): actions.append(.pauseSocket(isPaused))
            case .socketTakesOver:
                mailbox.isOpen = false
                tell(model.socketTakesOver().events)
            case .socketHandsBack: model.socketHandsBack()
            case .changed(_, let state): actions.append(.changed(state))
            case .failed(let problem, let delay):
                actions.append(.failed(problem, retryAfter: delay))
            case .socketFailed(let delay): actions.append(.socketFailed(retryAfter: delay))
            case .held(let message): actions.append(.held(message: message))
            case .resumed(let message, _): actions.append(.resumed(message: message))
            }
        }
    }

    private mutating func prepare(_ step: WorkspaceLoop.Step, _ number: Int) {
        model.readsFeed = loop.readsFeed
        if case .list = step { model.listingBegins() }
        waiting = Request(number: number, step: step, sequence: model.sequence, includesBin: !loop.readsFeed)
        beginNext()
    }

    private mutating func giveUp() {
        guard waiting == nil else { return waiting = nil }
        // One that may open the mailbox again goes on, so that it is closed for good after it.
        if let current, !(mailbox.isToBeClosed && current.step.usesMailbox) { actions.append(.cancelStep) }
    }

    /// Whatever waits begins, if nothing is under way and nothing holds it.
    private mutating func beginNext() {
        guard current == nil else { return }
        if let next = waiting {
            guard !loop.isHeld else { return }
            (current, waiting) = (next, nil)
            switch next.step {
            case .register, .consume: mailbox.isOpen = true
            case .discover, .consumeLast, .list, .readChanges: break
            }
            actions.append(.perform(next))
        } else if mailbox.isToBeClosed {
            mailbox.isToBeClosed = false
            actions.append(.unregister)
        }
    }
}

extension WorkspaceLoop.Step {
    fileprivate var usesMailbox: Bool {
        switch self {
        case .register, .consume, .consumeLast: true
        case .discover, .list, .readChanges: false
        }
    }
}
