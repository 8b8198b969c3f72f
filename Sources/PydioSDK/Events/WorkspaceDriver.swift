import CurlTransport
import Logging
import PeerLog
import PydioProtocol
import Realtime
import Transport

/// Carries out what a ``WorkspaceLoop`` orders: makes requests, holds the WebSocket, keeps time, watches the network; and
/// gives what comes to the ``WorkspaceModel``.
@NetworkActor
final class WorkspaceDriver {
    /// What is told, in order.
    enum Report: Sendable {
        case events([PydioEvent])
        case gap(start: Date, end: Date)
        case changed(ConnectionState)
        case failed(SourceFailure)
        /// The place in the log of changes up to which everything was told.
        case sequence(Int64)
    }

    let requests: WorkspaceRequests
    let tell: @Sendable (Report) -> Void
    var loop: WorkspaceLoop
    var model: WorkspaceModel
    var socket: (id: ConnectionMachine.TransportID, connection: WebSocketConnection)?
    var frames = SocketFrames()
    var socketError: TransportError?
    /// When something was heard last before anything was missed, for gaps.
    var lastHeard = Date()
    private var task: Task<Void, Never>?
    private var generation: Int?
    private var lastError: PydioError?
    private var isRegistered = false
    /// Of the listing that is to be compared.
    private var isGapCertain = false
    /// Whether what is under way asks for the mailbox.
    private var isMailboxInUse = false
    /// What is under way may open the mailbox again after it was given up.
    private var mustFinish = false
    private var timer: NetworkTimer?
    private var network: NetworkMonitor.Observation?

    nonisolated init(
        _ requests: WorkspaceRequests, options: PydioEventsOptions, tell: @escaping @Sendable (Report) -> Void
    ) {
        self.requests = requests
        self.tell = tell
        loop = WorkspaceLoop(configuration: options.loop, seed: .random(in: .min ... .max))
        model = WorkspaceModel(options.model(requests.workspaceId))
    }

    // MARK: What the application asks

    func start() {
        watchNetwork()
        carryOut(loop.start(now: .now))
    }

    func pause() { carryOut(loop.pause(now: .now)) }

    func check() { carryOut(loop.check(now: .now)) }

    func hold(_ isHeld: Bool) { carryOut(loop.hold(isHeld, now: .now)) }

    func hold(for reader: EventReader) { carryOut(loop.hold(for: reader, now: .now)) }

    func release(for reader: EventReader) { carryOut(loop.release(for: reader, now: .now)) }

    func close() {
        mustFinish = isMailboxInUse
        carryOut(loop.pause(now: .now))
        timer = nil
        network = nil
        guard isRegistered else { return }
        isRegistered = false
        let (last, requests) = (task, requests)
        Task {
            await last?.value
            await requests.unregister()
        }
    }

    private func watchNetwork() {
        guard network == nil else { return }
        network = NetworkMonitor.shared.observe { [weak self] change in
            guard let self else { return }
            switch change {
            case .lost: carryOut(loop.networkLost(now: .now))
            case .returned, .changed: carryOut(loop.networkReturned(now: .now))
            }
        }
    }

    // MARK: Orders

    func carryOut(_ actions: [WorkspaceLoop.Action]) {
        for action in actions {
            switch action {
            case .perform(let step, let number): perform(step, number)
            case .cancelStep: if !mustFinish { task?.cancel() }
            case .openSocket(let id, let webSocket): openSocket(id, webSocket)
            case .pingSocket(let id): liveSocket(id)?.ping()
            case .dropSocket(let id):
                liveSocket(id)?.drop()
                socket = nil
            case .pauseSocket(let isPaused): socket?.connection.isReadingPaused = isPaused
            case .socketTakesOver:
                isRegistered = false
                take(model.socketTakesOver())
            case .socketHandsBack: model.socketHandsBack()
            case .changed(_, let state): tell(.changed(state))
            case .failed(let problem, let delay):
                // Nobody is let in to close the mailbox, and to try would be one more login that is refused.
                if problem == .unauthenticated { isRegistered = false }
                tellOfFailure(lastError ?? problem.error, retryAfter: delay)
            case .held(let message):
                logger?.report(.warning, "no events are asked for", fields(message))
                tell(.failed(SourceFailure(message, willRetry: true)))
            case .resumed(let message, _):
                logger?.report(.notice, "events are asked for again", fields(message))
                tell(.failed(SourceFailure(message, willRetry: true)))
            case .socketFailed(let delay):
                let reason = socketError.map { ": \($0.message)" } ?? ""
                tell(
                    .failed(
                        SourceFailure(
                            "the WebSocket for the workspace \(requests.workspaceId) failed\(reason); polls take its place",
                            willRetry: true, retryAfter: delay)))
            }
        }
        arm()
    }

    private var logger: Logger? { requests.client.options.logger }

    private func fields(_ message: String) -> KeyValuePairs<StaticString, PeerText> {
        ["pydio.workspace": "\(requests.workspaceId)", "pydio.reason": "\(message)"]
    }

    private func tellOfFailure(_ error: PydioError, retryAfter: Duration?) {
        tell(
            .failed(
                SourceFailure(
                    "the changes in the workspace \(requests.workspaceId) could not be asked for: \(error.message)",
                    willRetry: retryAfter != nil, retryAfter: retryAfter)))
    }

    private func arm() {
        if timer == nil {
            timer = NetworkTimer { [weak self] in
                guard let self else { return }
                carryOut(loop.timePassed(now: .now))
            }
        }
        timer?.set(loop.nextDeadline)
    }

    // MARK: Steps

    /// The next request waits for the end of the last one, which may have been given up.
    private func perform(_ step: WorkspaceLoop.Step, _ number: Int) {
        isMailboxInUse = false
        switch step {
        case .list: model.listingBegins()
        case .register, .consume: (isRegistered, isMailboxInUse) = (true, true)
        case .consumeLast: isMailboxInUse = true
        case .discover, .readChanges: break
        }
        model.readsFeed = loop.readsFeed
        lastError = nil
        let (last, requests, sequence, includesBin) = (task, requests, model.sequence, !loop.readsFeed)
        task = Task { [weak self] in
            await last?.value
            guard !Task.isCancelled else { return }
            let result: Result<WorkspaceRequests.Answer, PydioError>
            do {
                result = .success(try await requests.carryOut(step, since: sequence, includesBin: includesBin))
            } catch {
                result = .failure(PydioError(any: error))
            }
            NetworkActor.execute { self?.ended(step, number, result) }
        }
    }

    private func ended(
        _ step: WorkspaceLoop.Step, _ number: Int, _ result: Result<WorkspaceRequests.Answer, PydioError>
    ) {
        guard loop.isUnderWay(number) else { return }
        switch result {
        case .success(let answer):
            let outcome = take(answer, of: step)
            carryOut(loop.succeeded(number, outcome, now: .now))
            heard()
        case .failure(let error):
            lastError = error
            carryOut(loop.failed(number, WorkspaceLoop.Problem(error, in: step), now: .now))
        }
    }

    func heard() {
        if loop.isUpToDate { lastHeard = Date() }
    }

    /// Tells what is news of an answer.
    private func take(_ answer: WorkspaceRequests.Answer, of step: WorkspaceLoop.Step) -> WorkspaceLoop.Outcome {
        switch answer {
        case .services(let services): return .discovered(services)
        case .registered: return .registered
        case .messages(let messages, let generation):
            defer { self.generation = generation }
            let purpose = if case .consume(let purpose) = step { purpose } else { WorkspaceModel.Purpose.everything }
            let taken = model.consumed(messages, for: purpose, now: .now)
            if let comparison = taken.comparison { tell(comparison) }
            tell(taken.events)
            return .consumed(
                isWoken: taken.isWoken, isStale: taken.isRegistryStale,
                isSuspect: self.generation.map { $0 != generation } ?? false)
        case .listing(let index):
            guard case .list(.compare(let isGap)) = step else {
                model.listed(index)
                return .listed
            }
            isGapCertain = isGap
            if loop.readsFeed { tell(model.compared(index)) } else { model.listedForComparison(index) }
            return .listed
        case .changes(let response):
            let isReset = model.sequence != nil && response.isReset
            let events = model.read(response)
            // Before them: who hears of one can keep the place.
            if let sequence = model.sequence { tell(.sequence(sequence)) }
            tell(events)
            return .changesRead(isReset: isReset)
        }
    }

    func take(_ taken: WorkspaceModel.Taken) {
        tell(taken.events)
    }

    private func tell(_ comparison: WorkspaceModel.Comparison) {
        if isGapCertain || comparison.events?.isEmpty != true { tell(.gap(start: lastHeard, end: Date())) }
        tell(comparison.events ?? [])
    }

    private func tell(_ events: [PydioEvent]) {
        if !events.isEmpty { tell(.events(events)) }
    }
}

extension WorkspaceLoop.Problem {
    init(_ error: PydioError, in step: WorkspaceLoop.Step) {
        switch error.code {
        case .network, .cancelled, .file: self = .unreachable
        case .timedOut: self = .timedOut
        case .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha: self = .unauthenticated
        case .invalidArgument, .unsupportedServer: self = .unusable
        case .receivedNotExpectedAnswer, .errorResponse, .tooLarge:
            if case .readChanges = step { self = .withoutFeed } else { self = .refused }
        case .unableToParseAnswer, .notAZipFileResponse, .http: self = .refused
        @unknown default: self = .refused
        }
    }

    var error: PydioError {
        switch self {
        case .timedOut: PydioError(.timedOut, "the server did not answer in time")
        case .silent:
            PydioError(
                .unsupportedServer,
                "the server tells of changes in no way that is known: neither core.mq nor meta.syncable is switched on")
        case .unreachable, .refused, .withoutFeed, .unauthenticated, .unusable:
            PydioError(.network, "the server could not be reached")
        }
    }
}
