import Basics
import Foundation
import NIOCore
import PusherProtocol

/// Connects the connections to the applications' logic. Everything happens on one event loop, so messages to different
/// clients have one order, and nothing needs a lock.
final class ServerCore {
    let configuration: PusherMockServer.Configuration
    let eventLoop: any EventLoop

    private(set) var applications: [ApplicationState]
    private var sockets: [SocketID: (connection: WebSocketHandler, application: Int)] = [:]
    private var socketCount: UInt64 = 0
    private(set) var tcpConnections: [ObjectIdentifier: any Channel] = [:]
    private var requestDeadlines: RequestDeadlines
    private var isWatchingRequests = false
    private var acceptFailures = AcceptFailures()
    private let browserGuard: BrowserGuard
    private(set) var isStopped = false
    private var webhookSenders: [Int: WebhookSender] = [:]
    private var heldAnswers: HeldAnswers?
    /// The next deadline of each application.
    private var deadlines: [Int: MonotonicInstant] = [:]

    var eventLog: EventLog
    var authRequestCount = 0
    var waiters = StateWaiters()

    var handshakeFaults = FaultQueue<PusherMockServer.HandshakeFault>()
    var connectionFaults = FaultQueue<(fault: PusherMockServer.ConnectionFault, afterFrames: Int)>()
    var authFaults = FaultQueue<PusherMockServer.AuthFault>()
    var script: ScriptPlayer

    init(configuration: PusherMockServer.Configuration, eventLoop: any EventLoop) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        requestDeadlines = RequestDeadlines(timeout: configuration.requestTimeout)
        browserGuard = BrowserGuard(
            host: configuration.host, allowedHosts: configuration.allowedHosts,
            allowedOrigins: configuration.allowedOrigins)
        applications = configuration.apps.map { ApplicationState(app: $0, profile: configuration.profile) }
        eventLog = EventLog(limit: configuration.historyLimit, maximumSize: configuration.maximumHistorySize)
        script = ScriptPlayer(configuration.script)
        for (index, app) in configuration.apps.enumerated() {
            webhookSenders[index] = WebhookSender(app: app, eventLoop: eventLoop) { [weak self] in self?.log($0) }
        }
    }

    /// A frame writer for messages that concern no application.
    var frames: FrameWriter { FrameWriter(profile: configuration.profile) }

    var state: PusherMockServer.State {
        PusherMockServer.State(
            applications: applications, log: eventLog.newest, tcpConnectionCount: tcpConnections.count,
            authRequestCount: authRequestCount)
    }

    func log(_ entry: PusherMockServer.LogEntry) {
        eventLog.append(entry)
        for due in script.happened(entry) { schedule(due) }
        stateChanged()
    }

    /// Schedules one check of the waiters for all changes before the event loop runs it.
    private func stateChanged() {
        guard waiters.needCheck() else { return }
        eventLoop.assumeIsolated().execute { self.waiters.check(self.state) }
    }

    // MARK: TCP connections

    /// Returns whether to keep the connection.
    func accepted(_ channel: any Channel) -> Bool {
        guard !isStopped, handshakeFaults.take(app: nil, where: { $0 == .refuseConnection }) == nil else {
            return false
        }
        let id = ObjectIdentifier(channel)
        tcpConnections[id] = channel
        stateChanged()
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            self.tcpConnections[id] = nil
            self.requestDeadlines.met(by: id)
            self.stateChanged()
        }
        return true
    }

    /// Records that the system has no room for another connection.
    func acceptFailed(_ error: IOError) {
        guard acceptFailures.isWorthTelling(now: .now) else { return }
        log(.acceptingPaused(reason: String(cString: strerror(error.errnoCode))))
    }

    /// Starts the timeout for a connection's next request.
    func awaitRequest(on channel: any Channel) {
        requestDeadlines.start(for: ObjectIdentifier(channel), now: .now)
        watchRequests()
    }

    func requestArrived(on channel: any Channel) {
        requestDeadlines.met(by: ObjectIdentifier(channel))
    }

    /// Runs one timer for all connections while a request is awaited: a timer per request would cost more with more
    /// connections.
    private func watchRequests() {
        guard !isWatchingRequests, !requestDeadlines.isEmpty, !isStopped else { return }
        isWatchingRequests = true
        eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(bounded: configuration.requestTimeout / 4)) {
            self.isWatchingRequests = false
            for id in self.requestDeadlines.takePassed(now: .now) { self.tcpConnections[id]?.close(promise: nil) }
            self.watchRequests()
        }
    }

    /// Drops every connection. The futures complete when the connections are closed.
    func stop() -> [EventLoopFuture<Void>] {
        isStopped = true
        let channels = Array(tcpConnections.values)
        for channel in channels { channel.close(promise: nil) }
        for sender in webhookSenders.values { sender.stop() }
        releaseAnswers()
        return channels.map(\.closeFuture)
    }

    func wait(
        _ promise: EventLoopPromise<Bool>, until condition: @escaping StateWaiters.Condition, atMost bound: Duration
    ) {
        guard !isStopped || condition(state) else { return promise.succeed(false) }
        let id = waiters.add(promise, until: condition)
        eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(bounded: bound)) { self.waiters.giveUp(id) }
        stateChanged()
    }

    /// Ends the sequences of log entries and completes the remaining waiters.
    func finish() {
        eventLog.finish()
        waiters.giveUp()
    }

    // MARK: WebSockets

    /// Returns a new id. Its first part is random, so that ids of two servers differ; the second is a counter, so that
    /// ids of one server differ.
    func makeSocketID() -> SocketID {
        socketCount += 1
        guard let socketID = SocketID("\(UInt32.random(in: 1 ... .max)).\(socketCount)") else {
            preconditionFailure("two numbers and a dot are a socket id")
        }
        return socketID
    }

    func connectionOpened(_ connection: WebSocketHandler, socketID: SocketID, appKey: String) {
        guard let index = applications.firstIndex(where: { $0.app.key == appKey }) else { return }
        let app = applications[index].app
        sockets[socketID] = (connection, index)
        log(.connectionOpened(socketID: socketID.string, app: appKey))
        for (fault, count) in connectionFaults.takeAll(app: appKey) { connection.inject(fault, afterFrames: count) }
        change(index) { $0.connectionOpened(socketID, now: .now) }
        let pingAfter = app.pingAfter ?? app.activityTimeout ?? configuration.profile.pingAfter
        connection.startKeepAlive(
            KeepAlive(
                pingAfter: pingAfter ?? configuration.profile.activityTimeout, pongTimeout: app.pongTimeout, now: .now))
    }

    func received(_ text: String, from socketID: SocketID) {
        guard let index = sockets[socketID]?.application else { return }
        change(index) { $0.received(text, from: socketID, now: .now) }
        stateChanged()
    }

    func connectionClosed(_ socketID: SocketID, code: Int?) {
        guard let socket = sockets.removeValue(forKey: socketID) else { return }
        change(socket.application) { $0.connectionClosed(socketID, now: .now) }
        log(.connectionClosed(socketID: socketID.string, code: code))
    }

    func connection(_ socketID: String) -> WebSocketHandler? {
        SocketID(socketID).flatMap { sockets[$0]?.connection }
    }

    var openConnections: [WebSocketHandler] { sockets.values.map(\.connection) }

    /// Returns the application of a connection, if it is still open; pass `nil` for the first application.
    func applicationIndex(of socketID: String?) -> Int? {
        guard let socketID else { return applications.indices.first }
        return SocketID(socketID).flatMap { sockets[$0]?.application }
    }

    // MARK: Applications

    /// Returns the application with this key; pass `nil` for the first one.
    func index(ofApp key: String?) -> Int? {
        key == nil ? applications.indices.first : applications.firstIndex { $0.app.key == key }
    }

    /// Changes an application's state and carries out the resulting actions.
    @discardableResult
    func change<Result>(_ index: Int, _ body: (inout ApplicationState) -> Result) -> Result {
        let result = body(&applications[index])
        carryOut(applications[index].takeActions(), of: index)
        scheduleDeadline(of: index)
        return result
    }

    /// Publishes an event. Encrypts the data for an encrypted channel if the application has a master key.
    @discardableResult
    func publish(event: String, channel: String, data: String, except excluded: SocketID? = nil, on index: Int) -> Int {
        let key = (try? ChannelName(channel)).flatMap { applications[index].encryptionKey(of: $0) }
        let publication = Publication(
            event: event, channel: channel, data: key?.encrypt(data) ?? data, excluded: excluded)
        return change(index) { $0.publish(publication, now: .now) }
    }

    /// Carries out actions. Flushes each recipient of frames once.
    private func carryOut(_ actions: [ServerAction], of index: Int) {
        var recipients: [[SocketID]] = []
        var told: [WebhookEvent] = []
        for action in actions {
            switch action {
            case .send(let text, let to):
                let frame = EncodedFrame(text)
                for recipient in to { sockets[recipient]?.connection.send(frame) }
                recipients.append(to)
            case .close(let socketID, let code, let reason):
                sockets[socketID]?.connection.close(code: code, reason: reason)
            case .tell(let event):
                log(.webhook(event: event.json, app: applications[index].app.key))
                told.append(event)
            case .log(let entry): log(entry)
            }
        }
        if recipients.count == 1 {
            for recipient in recipients[0] { sockets[recipient]?.connection.flush() }
        } else {
            for recipient in Set(recipients.joined()) { sockets[recipient]?.connection.flush() }
        }
        if !told.isEmpty { webhookSenders[index]?.tell(told) }
    }

    private func scheduleDeadline(of index: Int) {
        guard !isStopped, let deadline = applications[index].nextDeadline,
            deadlines[index].map({ deadline < $0 }) ?? true
        else { return }
        deadlines[index] = deadline
        eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(bounded: deadline - .now)) {
            guard self.deadlines[index] == deadline else { return }  // replaced by an earlier one
            self.deadlines[index] = nil
            self.change(index) { $0.deadlinePassed(now: .now) }
        }
    }

    func clearFaults() {
        handshakeFaults.clear()
        connectionFaults.clear()
        authFaults.clear()
        releaseAnswers()
    }

    func takeHandshakeFault(app: String?) -> PusherMockServer.HandshakeFault? {
        handshakeFaults.take(app: app)
    }

    // MARK: HTTP

    func reply(to request: APIRequest) -> HTTPHandler.Reply {
        let prefix = configuration.pathPrefix
        let path = request.target.path
        let ownPath = !prefix.isEmpty && path.hasPrefix(prefix + "/") ? String(path.dropFirst(prefix.count)) : path
        if let endpoint = AuthEndpoint(rawValue: ownPath) { return authReply(to: request, endpoint) }
        let answer = httpAnswer(to: request, path: ownPath)
        if let index = answer.appKey.flatMap(index(ofApp:)) {
            for command in answer.commands { change(index) { command.apply(to: &$0, now: .now) } }
        }
        log(.httpRequest(method: request.method, path: path, status: answer.response.status))
        return .now(answer.response)
    }

    private func httpAnswer(to request: APIRequest, path: String) -> HTTPAPI.Answer {
        guard !configuration.servesAuthOnly else {
            return HTTPAPI.Answer(response: APIFailure(404, "Not found").response)
        }
        guard !path.hasPrefix("/app/") else {
            let response = APIResponse(
                status: 426, body: "This is a WebSocket endpoint\n", headers: ["Upgrade": "websocket"])
            return HTTPAPI.Answer(response: response)
        }
        return HTTPAPI.respond(
            to: request, path: path, applications: applications,
            clock: HTTPAPI.Clock(instant: .now, unixTime: Int(Date().timeIntervalSince1970)))
    }

    private func authReply(to request: APIRequest, _ endpoint: AuthEndpoint) -> HTTPHandler.Reply {
        let access = CrossOriginAccess(configuration.allowedOrigins)
        if let answer = access.preflightAnswer(to: request) {
            log(.httpRequest(method: request.method, path: request.target.path, status: answer.status))
            return .now(answer)
        }
        let fields = access.fields(for: request)
        if let refusal = browserGuard.refusal(host: request.headers["host"], origin: request.headers["origin"]) {
            log(.httpRequest(method: request.method, path: request.target.path, status: 403))
            return .now(APIFailure(403, refusal).response.adding(fields))
        }
        authRequestCount += 1
        let parameters = request.formParameters
        log(
            .authRequest(
                PusherMockServer.AuthRequest(
                    path: endpoint.rawValue, parameters: parameters, headers: request.headers)))
        let response = endpoint.respond(
            to: request, with: parameters, applications: applications,
            requiredHeaders: configuration.requiredAuthHeaders
        ).adding(fields)
        guard heldAnswers == nil else { return hold(response) }
        let key = request.target.parameter("key") ?? applications.first?.app.key
        switch authFaults.take(app: key) {
        case nil: return .now(response)
        case .respond(let status, let body):
            return .now(APIResponse(status: status, body: body, headers: fields))
        case .delay(let delay): return .later(response, delay)
        case .redirect(let location):
            return .now(APIResponse(status: 302, body: "", headers: ["Location": location]).adding(fields))
        case .reverseOrder(let count):
            heldAnswers = HeldAnswers(count: count)
            return hold(response)
        case .never: return .never
        }
    }

    private func hold(_ response: APIResponse) -> HTTPHandler.Reply {
        let promise = eventLoop.makePromise(of: APIResponse.self)
        heldAnswers?.hold(response, promise: promise)
        if heldAnswers?.isComplete == true { releaseAnswers() }
        return .whenReleased(promise.futureResult)
    }

    /// Sends the held answers, if any.
    func releaseAnswers() {
        heldAnswers?.giveAll()
        heldAnswers = nil
    }
}
