import Basics
import CurlTransport
import Foundation
import Logging
import PusherProtocol
import Realtime
import Transport

/// Connects the pure machine to the network and the application.
///
///     API call ──► machine (in its lock) ──► actions ──► I/O thread: transport, timer, authorization
///     I/O thread ──► machine ──► notices ──► callback queue: bindings, delegate, sequences
///
/// Objects that the application holds (channels, the connection, sequences) retain the core, but only ``Pusher`` keeps
/// it running: when that is released, ``shutDown()`` ends everything.
final class ClientCore: Shell {
    let options: PusherClientOptions
    let driver: Driver<ClientMachine>
    let hub: EventHub<ClientMachine.Notice>
    let callbacks = Lock(ClientCallbacks())

    @NetworkActor var transport: (id: ConnectionMachine.TransportID, connection: WebSocketConnection)?
    /// The running authorizations. Removing one cancels it.
    @NetworkActor var authorizations: [AuthRequestID: AuthorizationWork] = [:]
    @NetworkActor var batch = AuthorizationBatch()
    /// Whether a message too large to inflate ended a connection because later ones might refer to it. An uncompressed
    /// message can be skipped.
    @NetworkActor private var isCompressionOff = false

    init(key: String, options: PusherClientOptions) {
        let options = options.resolved
        self.options = options
        hub = EventHub(
            options.callbackQueue,
            capacity: CallbackLoad(count: options.maximumQueuedEvents, byteCount: options.maximumQueuedBytes))
        hub.addChannel(.user)
        hub.addChannel(.watchlist)
        driver = Driver(
            ClientMachine(
                endpoint: Endpoint(key: key, options: options),
                configuration: ClientMachine.Configuration(options), seed: .random(in: .min ... .max)))
    }

    /// The application's key.
    var key: String { read { $0.endpoint.key } }

    // MARK: The machine

    /// Runs `body` on the machine, then carries out the resulting actions on the I/O thread.
    @discardableResult
    func perform<Result: Sendable, Failure: Error>(
        _ body: (inout ClientMachine, MonotonicInstant) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try call(body)
    }

    func read<Result: Sendable>(_ body: (ClientMachine) -> Result) -> Result { peek(body) }

    // MARK: Orders

    @NetworkActor
    func carryOut(_ action: ClientMachine.Action) {
        switch action {
        case .tell(let notices): deliver(notices)
        case .open(let id, let url): open(id, url: url)
        case .close(let id): live(id)?.close(code: 1000, reason: "")
        case .drop(let id):
            live(id)?.drop()
            transport = nil
        case .send(let id, let frame): send(frame, on: id)
        case .pauseReading(let id, let isPaused): live(id)?.isReadingPaused = isPaused
        case .authorize(let request): authorize(request)
        case .authorizeUser(let id, let socketID): authorizeUser(id, socketID: socketID)
        case .cancelAuthorization(let id):
            authorizations[id] = nil
            batch.remove(id)
        }
    }

    @NetworkActor
    func carriedOutActions() { authorizeBatch() }

    // MARK: Transport

    @NetworkActor
    private func live(_ id: ConnectionMachine.TransportID) -> WebSocketConnection? {
        transport?.id == id ? transport?.connection : nil
    }

    @NetworkActor
    private func open(_ id: ConnectionMachine.TransportID, url: String) {
        watchNetwork()
        let compression = isCompressionOff ? nil : options.compression?.offer
        let request = WebSocketRequest(
            url: url, fields: HTTPFields(handshake: options.handshakeHeaders), compression: compression,
            maximumMessageSize: options.maximumMessageSize,
            oversizedMessages: .discard, maximumHandshakeSize: options.maximumHandshakeSize,
            maximumSendQueueSize: options.maximumSendQueueSize, connectTimeout: options.connectTimeout)
        let connection = WebSocketConnection(request, options: options.network) { [weak self] event in
            self?.received(event, from: id)
        }
        transport = (id, connection)
        connection.start()
    }

    @NetworkActor
    private func received(_ event: WebSocketConnection.Event, from id: ConnectionMachine.TransportID) {
        switch event {
        case .reached(let times):
            handle { machine, _ in machine.transportReached(id, times) }
        case .opened:
            handle { machine, now in machine.transportOpened(id, now: now) }
        case .received(let messages, let byteCount, let isMoreToRead):
            options.metrics?.received(messages: messages.count, bytes: byteCount)
            logReceived(messages)
            if let tap = options.wireTap { show(messages, to: tap) }
            // The results of several consecutive reads reach the application together.
            if isMoreToRead {
                handleSoon { machine, now in machine.received(messages, from: id, now: now) }
            } else {
                handle { machine, now in machine.received(messages, from: id, now: now) }
            }
        case .pong:
            handle { machine, now in machine.pongReceived(now: now) }
        case .closed(let closure):
            if transport?.id == id { transport = nil }
            if closure.error?.code == .protocolViolation(code: 1009) { isCompressionOff = true }
            handle { machine, now in machine.transportClosed(id, closure, now: now) }
        }
    }

    @NetworkActor
    private func send(_ frame: ClientFrame, on id: ConnectionMachine.TransportID) {
        guard let connection = live(id) else { return }
        // Pending output proves as well as a pong that this side is alive, and the server decides how often it pings.
        if frame == .pong, connection.hasUnsentBytes { return }
        do throws(TransportError) {
            if frame == .ping, options.pingForm == .controlFrame {
                connection.ping()
            } else {
                let text = frame.text
                try connection.send(text: Array(text.utf8))
                if let tap = options.wireTap { show(text, to: tap) }
            }
            options.metrics?.sent()
            logSent(frame)
        } catch {
            let closure = WebSocketClosure(code: 1006, error: error)
            connection.drop()
            transport = nil
            handle { machine, now in machine.transportClosed(id, closure, now: now) }
        }
    }

    // MARK: The end

    /// Whether the application has ended the client.
    var isShutDown: Bool { hub.isClosed }

    /// Ends everything at once. The application's callbacks and other closures that have not started never run.
    func shutDown() {
        detachAll()
        _ = callbacks.withLock { $0.close() }  // released after the lock
        hub.close()
        perform { machine, now in machine.shutDown(now: now) }
        NetworkActor.execute { self.closeDriver() }
    }
}

extension Endpoint {
    fileprivate init(key: String, options: PusherClientOptions) {
        self.init(
            host: options.host.stringValue, port: options.port, path: options.path ?? "", key: key,
            usesTLS: options.useTLS, clientVersion: Pusher.version)
    }
}

extension ClientMachine.Configuration {
    fileprivate init(_ options: PusherClientOptions) {
        self.init()
        connection.autoReconnect = options.autoReconnect
        connection.reconnectAttemptsMax = options.reconnectAttemptsMax
        connection.reconnectPolicy = options.reconnectPolicy
        connection.connectTimeout = options.connectTimeout
        connection.activityTimeout = options.activityTimeout.flatMap { .timeout(seconds: $0) } ?? .seconds(120)
        connection.pongTimeout = options.pongTimeout
        maximumAuthRequests = max(options.maximumAuthRequests, 1)
        if case .batch = options.authMethod { maximumAuthRequests = .max }  // the batch limits its own calls
        maximumAuthRetries = max(options.maximumAuthRetries, 0)
        authRetryDelay = options.authRetryDelay
        clientEventRateLimit = options.clientEventRateLimit
        authTimeout = options.authTimeout
        subscriptionTimeout = options.subscriptionTimeout
        maximumUnsentEvents = options.maximumUnsentEvents
    }
}

extension Duration {
    /// Returns at least a millisecond; `nil` for NaN.
    static func timeout(seconds: Double) -> Duration? { bounded(seconds: seconds).map { max($0, .milliseconds(1)) } }
}

extension HTTPFields {
    fileprivate init(handshake headers: [String: String]) {
        self.init()
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { append(name: name, value: value) }
    }
}

extension PusherClientOptions {
    var network: NetworkOptions { NetworkOptions(caFile: caFile, proxy: proxy, pinnedKey: pinnedKey) }

    /// Returns the options for a request to an auth endpoint. The pinned key belongs to the Pusher server, so it
    /// applies only at the same host and port.
    func network(for url: String) -> NetworkOptions {
        var network = network
        let target = URLComponents(string: url)
        let isServer =
            target?.scheme?.equalsIgnoringASCIICase("https") == true && (target?.port ?? 443) == (port ?? 443)
            && target?.host?.equalsIgnoringASCIICase(host.stringValue) == true
        if !isServer { network.pinnedKey = nil }
        return network
    }
}
