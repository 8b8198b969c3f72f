package import Basics
package import Realtime
package import Transport

/// A workspace as a source of events. ``WorkspaceLoop`` decides what to request when, ``WorkspaceModel`` which parts of
/// the answers are new, and this type connects the two.
///
///     answers, messages ──► model ──► events, gaps ──► the application
///                    └────► loop ──► requests, WebSocket
///
/// Only one request runs at a time. An abandoned request may still change the server's state for this client, so the
/// next one waits for its end: each ``Action/perform(_:)`` must be followed by ``answered(_:_:now:)`` or
/// ``failed(_:_:now:)``, even after ``Action/cancelStep``.
package struct WorkspaceMachine: Machine {
    package struct Request: Hashable, Sendable {
        package let number: Int
        package let step: WorkspaceLoop.Step
        /// The position in the change log; `nil` means the beginning, for everything.
        package let sequence: Int64?
        /// Whether to include the contents of the bin.
        package let includesBin: Bool
    }

    /// The result of a request.
    package enum Answer: Sendable {
        case services(WorkspaceServices)
        case registered
        /// - Parameter generation: The identifier of the session.
        case messages([ChannelMessage], generation: Int)
        /// The contents of the workspace; `nil` if there are too many nodes to store.
        case listing(NodeIndex?)
        case changes(PydioChangesResponse)
    }

    package enum Action: Sendable {
        case perform(Request)
        case cancelStep
        /// Close the mailbox, which is no longer consumed.
        case unregister
        case openSocket(ConnectionMachine.TransportID, WorkspaceServices.WebSocket)
        case pingSocket(ConnectionMachine.TransportID)
        case dropSocket(ConnectionMachine.TransportID)
        /// Pause or resume reading from the WebSocket.
        case pauseSocket(Bool)
        case tell([PydioEvent])
        /// Events may have been missed in this period.
        case gap(from: MonotonicInstant, to: MonotonicInstant)
        /// The position in the change log up to which everything was reported.
        case sequence(Int64)
        case changed(ConnectionState)
        /// - Parameter retryAfter: The delay until the retry; `nil` if there is none.
        case failed(WorkspaceLoop.Problem, retryAfter: Duration?)
        /// The WebSocket has failed; polls replace it.
        case socketFailed(retryAfter: Duration?)
        /// Requests have been paused for long because a reader is too slow.
        case held(message: String)
        /// The pause has ended.
        case resumed(message: String)
    }

    private var loop: WorkspaceLoop
    private var model: WorkspaceModel
    private var frames = SocketFrames()
    private var actions: [Action] = []
    private var mailbox = Mailbox()
    /// The running request, which may have been abandoned.
    private var current: Request?
    /// The request that waits for the end of the current one.
    private var waiting: Request?
    /// Whether the listing to compare follows a certain gap.
    private var isGapCertain = false
    /// The time of the last received data before anything was missed.
    private var lastHeard: MonotonicInstant

    /// The known state of the server's mailbox.
    private struct Mailbox: Hashable, Sendable {
        var isOpen = false
        /// The session in which it was last consumed.
        var generation: Int?
        /// Whether a request that opens it failed: the server may still carry it out later.
        var isInDoubt = false
        /// Whether to close it when no request is running.
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

    /// Whether no event is known to be missing.
    package var isUpToDate: Bool { loop.isUpToDate }

    /// Returns whether the answer to this request counts.
    package func isUnderWay(_ number: Int) -> Bool { loop.isUnderWay(number) }

    package var nextDeadline: MonotonicInstant? { loop.nextDeadline }

    package mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    // MARK: Calls from the application

    /// Starts, or retries at once if a retry is pending.
    package mutating func start(now: MonotonicInstant) { carryOut(loop.start(now: now), now: now) }

    /// Stops requests, and abandons the current one.
    package mutating func pause(now: MonotonicInstant) { carryOut(loop.pause(now: now), now: now) }

    /// Makes a request at once.
    package mutating func check(now: MonotonicInstant) { carryOut(loop.check(now: now), now: now) }

    /// Stops requests while `isHeld` is true, for the sinks; the current request continues.
    package mutating func hold(_ isHeld: Bool, now: MonotonicInstant) {
        carryOut(loop.hold(isHeld, now: now), now: now)
        beginNext()
    }

    /// Stops requests for a reader, until it releases its hold. Reports a long hold.
    package mutating func hold(for reader: EventReader, now: MonotonicInstant) {
        carryOut(loop.hold(for: reader, now: now), now: now)
    }

    /// Releases one ``hold(for:now:)``.
    package mutating func release(for reader: EventReader, now: MonotonicInstant) {
        carryOut(loop.release(for: reader, now: now), now: now)
        beginNext()
    }

    /// Ends everything, and closes an open mailbox.
    package mutating func close(now: MonotonicInstant) {
        if mailbox.isOpen || mailbox.isInDoubt {
            (mailbox.isOpen, mailbox.isInDoubt, mailbox.isToBeClosed) = (false, false, true)
        }
        carryOut(loop.pause(now: now), now: now)
        beginNext()
    }

    // MARK: Answers

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
                // Closing it would fail, and cause one more refused login.
                (mailbox.isOpen, mailbox.isInDoubt, mailbox.isToBeClosed) = (false, false, false)
            } else if current.step.usesMailbox {
                mailbox.isInDoubt = true
            }
        }
        if end(number) != nil { carryOut(loop.failed(number, problem, now: now), now: now) }
        beginNext()
    }

    /// - Returns: The request, unless it was abandoned.
    private mutating func end(_ number: Int) -> Request? {
        guard let request = current, request.number == number else { return nil }
        current = nil
        return loop.isUnderWay(number) ? request : nil
    }

    /// Reports the new parts of an answer.
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
            // Messages before these may be missing.
            if isSuspect, purpose == .everything { purpose = .allButNodes }
            let taken = model.consumed(messages, for: purpose)
            if let comparison = taken.comparison { tell(comparison, now: now) }
            tell(taken.events)
            // The answer shows when the WebSocket no longer delivers messages that were also in the mailbox.
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
            // Before the events, so that a receiver of an event can store the position.
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

    /// Handles a received part of a message.
    package mutating func socketHeard(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) {
        carryOut(loop.socketHeard(id, isProof: false, now: now), now: now)
        heard(now: now)
    }

    /// Handles the answer to the newest ping: everything that the server sent before has arrived.
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

    /// Handles the end of the WebSocket.
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
        // A request that may reopen the mailbox continues, so that the mailbox is closed for good after it.
        if let current, !(mailbox.isToBeClosed && current.step.usesMailbox) { actions.append(.cancelStep) }
    }

    /// Begins the waiting request, if none is running and nothing holds it.
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
