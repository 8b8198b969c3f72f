import Basics
import CurlTransport
import Logging
import PeerLog
import PydioProtocol
import Realtime
import Transport

/// Carries out the orders of a ``WorkspaceMachine``: makes requests, owns the WebSocket, and notifies listeners.
final class WorkspaceDriver: Shell {
    enum Report: Sendable {
        case events([PydioEvent])
        case gap(start: Date, end: Date)
        case changed(ConnectionState)
        case failed(_ message: String, (any Error)?, willRetry: Bool, retryAfter: Duration?)
        /// The position in the change log up to which everything was reported.
        case sequence(Int64)
    }

    let driver: Driver<WorkspaceMachine>
    let requests: WorkspaceRequests
    let tell: @Sendable (Report) -> Void
    @NetworkActor var socket: (id: ConnectionMachine.TransportID, connection: WebSocketConnection)?
    @NetworkActor var socketError: TransportError?
    @NetworkActor private var task: Task<Void, Never>?
    @NetworkActor private var lastError: PydioError?

    init(_ requests: WorkspaceRequests, options: PydioEventsOptions, tell: @escaping @Sendable (Report) -> Void) {
        self.requests = requests
        self.tell = tell
        driver = Driver(
            WorkspaceMachine(
                loop: options.loop, model: options.model(requests.workspaceId), seed: .random(in: .min ... .max),
                now: .now))
    }

    // MARK: Calls from the application

    @NetworkActor
    func start() {
        watchNetwork()
        handle { machine, now in machine.start(now: now) }
    }

    @NetworkActor
    func pause() { handle { machine, now in machine.pause(now: now) } }

    @NetworkActor
    func check() { handle { machine, now in machine.check(now: now) } }

    @NetworkActor
    func hold(_ isHeld: Bool) { handle { machine, now in machine.hold(isHeld, now: now) } }

    @NetworkActor
    func hold(for reader: EventReader) { handle { machine, now in machine.hold(for: reader, now: now) } }

    @NetworkActor
    func release(for reader: EventReader) { handle { machine, now in machine.release(for: reader, now: now) } }

    @NetworkActor
    func close() {
        handle { machine, now in machine.close(now: now) }
        closeDriver()
    }

    // MARK: Orders

    @NetworkActor
    func carryOut(_ action: WorkspaceMachine.Action) {
        switch action {
        case .perform(let request): perform(request)
        case .cancelStep: task?.cancel()
        case .unregister: Task { [requests] in await requests.unregister() }
        case .openSocket(let id, let webSocket): openSocket(id, webSocket)
        case .pingSocket(let id): liveSocket(id)?.ping()
        case .dropSocket(let id):
            liveSocket(id)?.drop()
            socket = nil
        case .pauseSocket(let isPaused): socket?.connection.isReadingPaused = isPaused
        case .tell(let events): tell(.events(events))
        case .gap(let start, let end): tell(.gap(start: Date(start), end: Date(end)))
        case .sequence(let sequence): tell(.sequence(sequence))
        case .changed(let state): tell(.changed(state))
        case .failed(let problem, let delay): tellOfFailure(lastError ?? problem.error, retryAfter: delay)
        case .socketFailed(let delay): tellOfSocketFailure(retryAfter: delay)
        case .held(let message):
            logger?.report(.warning, "\(message)", fields)
            tell(.failed(message, nil, willRetry: true, retryAfter: nil))
        case .resumed(let message):
            logger?.report(.notice, "events are asked for again: \(message)", fields)
            tell(.failed(message, nil, willRetry: true, retryAfter: nil))
        }
    }

    private var logger: Logger? { requests.client.options.logger }

    private var fields: KeyValuePairs<StaticString, PeerText?> { ["pydio.workspace": "\(requests.workspaceId)"] }

    private func tellOfFailure(_ error: PydioError, retryAfter: Duration?) {
        tell(
            .failed(
                "the changes in the workspace \(requests.workspaceId) could not be asked for: \(error.message)", error,
                willRetry: retryAfter != nil, retryAfter: retryAfter))
    }

    @NetworkActor
    private func tellOfSocketFailure(retryAfter: Duration?) {
        let reason = socketError.map { ": \($0.message)" } ?? ""
        tell(
            .failed(
                "the WebSocket for the workspace \(requests.workspaceId) failed\(reason); polls take its place",
                socketError,
                willRetry: true, retryAfter: retryAfter))
    }

    // MARK: Requests

    @NetworkActor
    private func perform(_ request: WorkspaceMachine.Request) {
        lastError = nil
        // The request retains the driver, so that cleanup at the server happens even without other references.
        task = Task {
            let result: Result<WorkspaceMachine.Answer, PydioError>
            do {
                result = .success(try await requests.carryOut(request))
            } catch {
                result = .failure(PydioError(any: error))
            }
            NetworkActor.execute { self.ended(request, result) }
        }
    }

    @NetworkActor
    private func ended(_ request: WorkspaceMachine.Request, _ result: Result<WorkspaceMachine.Answer, PydioError>) {
        switch result {
        case .success(let answer): handle { machine, now in machine.answered(request.number, answer, now: now) }
        case .failure(let error):
            lastError = error
            let problem = WorkspaceLoop.Problem(error, in: request.step)
            handle { machine, now in machine.failed(request.number, problem, now: now) }
        }
    }
}

extension Date {
    /// Creates a date from an instant in the past.
    fileprivate init(_ instant: MonotonicInstant) {
        self = Date() - (MonotonicInstant.now - instant) / .seconds(1)
    }
}

extension WorkspaceLoop.Problem {
    init(_ error: PydioError, in step: WorkspaceLoop.Step) {
        switch error.code {
        case .network, .cancelled, .file: self = .unreachable
        case .timedOut: self = .timedOut
        case .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha: self = .unauthenticated
        case .invalidArgument, .unsupportedServer, .notPermitted: self = .unusable
        case .receivedNotExpectedAnswer, .errorResponse, .tooLarge, .unsupportedOperation:
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
