import Basics
import CNATS
import CurlTransport
package import Realtime

/// A connection to a NATS cluster that is restored until it is closed. libnats reconnects, and when it gives up, as
/// after two refused logins, a new connection follows.
///
/// Nothing is queued while there is no connection: calls fail at once, and pending ones fail.
package final class NATSConnection: Sendable {
    /// A notification to observers, delivered in order.
    package enum News: Sendable {
        case connected
        /// The connection was lost; reconnecting.
        case disconnected
        /// A failed attempt, a missing permission, or messages dropped by libnats. Reported once each.
        case failed(NATSError)
        case closed
    }

    package typealias Observer = @Sendable (News) -> Void

    private enum Status: Sendable {
        case idle
        case connecting
        case connected(NATSLink)
        /// libnats is reconnecting.
        case reconnecting(NATSLink)
        /// libnats gave up or never connected; we are retrying.
        case waiting
        case closed
    }

    private struct State: Sendable {
        var status = Status.idle
        var attempts = 0
        var observers: [(id: Int, observer: Observer)] = []
        var lastObserver = 0
        var news = SerialInbox<News>()
        var violations: [Violation] = []
        var lastFailure: NATSError?

        var link: NATSLink? {
            switch status {
            case .connected(let link), .reconnecting(let link): link
            case .idle, .connecting, .waiting, .closed: nil
            }
        }

        var connectionState: ConnectionState {
            switch status {
            case .idle, .closed: .disconnected
            case .connecting: .connecting
            case .connected: .connected
            case .reconnecting, .waiting: .reconnecting
            }
        }
    }

    /// A missing permission. A call notices it only by a timeout.
    private struct Violation: Sendable {
        let text: String
        let time: MonotonicInstant
    }

    package let options: NATSOptions
    private let state = Lock(State())
    private let life = BlockingCalls("nats.life")
    let calls = BlockingCalls("nats.calls")

    package init(_ options: NATSOptions) { self.options = options }

    // MARK: Life cycle

    /// Connects, and keeps the connection until ``close()``.
    ///
    /// - Throws: The error of the first attempt. There are no retries then.
    package func connect() async throws(NATSError) {
        try await result { done in
            self.life.run {
                self.attempt { error in
                    if error != nil { self.state.withLock { $0.status = .idle } }
                    done(error.map { .failure($0) } ?? .success(()))
                }
            }
        }.get()
    }

    /// Connects like ``connect()``, but also retries the first attempt.
    package func start() {
        life.run { [self] in
            guard case .idle = state.withLock({ $0.status }) else { return }
            attemptAgain()
        }
    }

    /// Closes the connection for good, after sending what was written.
    ///
    /// - Parameter then: Called when the connection is closed.
    package func close(then: @escaping @Sendable () -> Void = {}) {
        let link = state.withLock { state -> NATSLink? in
            defer { state.status = .closed }
            return state.link
        }
        life.run { [self] in
            link?.close()
            tell(.closed)
            then()
        }
    }

    package var connectionState: ConnectionState { state.withLock { $0.connectionState } }

    /// - Returns: The observation's ID, for ``removeObserver(_:)``.
    @discardableResult
    package func observe(_ observer: @escaping Observer) -> Int {
        state.withLock { state in
            state.lastObserver += 1
            state.observers.append((state.lastObserver, observer))
            return state.lastObserver
        }
    }

    package func removeObserver(_ id: Int) {
        let old = state.withLock { state in
            defer { state.observers.removeAll { $0.id == id } }
            return state.observers
        }
        _ = old  // released after the lock
    }

    // MARK: Attempts, one at a time

    private func attempt(_ done: (NATSError?) -> Void) {
        let isWanted = state.withLock { state in
            switch state.status {
            case .idle, .waiting:
                state.status = .connecting
                return true
            case .connecting, .connected, .reconnecting, .closed: return false
            }
        }
        guard isWanted else { return done(NATSError(.notConnected, "the connection is in use, or was closed")) }
        do throws(NATSError) {
            let link = try NATSLink(options, owner: self)
            let isClosed = state.withLock { state in
                guard case .connecting = state.status else { return true }
                state.status = .connected(link)
                state.attempts = 0
                state.lastFailure = nil
                return false
            }
            if isClosed { link.close() } else { tell(.connected) }
            done(nil)
        } catch {
            done(error)
        }
    }

    private func attemptAgain() {
        attempt { error in
            guard let error else { return }
            let (delay, isNew) = state.withLock { state -> (Duration?, Bool) in
                guard case .connecting = state.status else { return (nil, false) }
                state.status = .waiting
                state.attempts += 1
                defer { state.lastFailure = error }
                // A refused login will be refused again until someone changes the configuration.
                let longest = error.mayRetry ? 2000 : 10_000
                let delay = Int.random(in: 0...min(250 << min(state.attempts, 8), longest)) + 100
                return (.milliseconds(delay), state.lastFailure != error)
            }
            guard let delay else { return }
            if isNew { tell(.failed(error)) }
            life.run(after: delay) { [weak self] in self?.attemptAgain() }
        }
    }

    // MARK: Callbacks of libnats, on its threads

    func linkWasLost(_ closure: UnsafeMutableRawPointer?) {
        let isNew = state.withLock { state in
            guard case .connected(let link) = state.status, link.isOf(closure) else { return false }
            state.status = .reconnecting(link)
            return true
        }
        if isNew { tell(.disconnected) }
    }

    func linkReturned(_ closure: UnsafeMutableRawPointer?) {
        let isNew = state.withLock { state in
            guard case .reconnecting(let link) = state.status, link.isOf(closure) else { return false }
            state.status = .connected(link)
            return true
        }
        if isNew { tell(.connected) }
    }

    func linkClosed(_ closure: UnsafeMutableRawPointer?) {
        let (link, wasConnected) = state.withLock { state -> (NATSLink?, Bool) in
            guard let link = state.link, link.isOf(closure) else { return (nil, false) }
            defer { state.status = .waiting }
            if case .connected = state.status { return (link, true) }
            return (link, false)
        }
        guard link != nil else { return }
        if wasConnected { tell(.disconnected) }
        life.run { [weak self] in self?.attemptAgain() }
    }

    func errorCame(_ status: natsStatus, _ text: String) {
        let failed = NATSError(status, during: "something on the connection to NATS", text: text)
        let error = failed.kind == .permission ? NATSError(.permission, Self.missingPermission(text)) : failed
        switch error.kind {
        case .permission:
            let violation = Violation(text: text, time: .now)
            state.withLock { $0.violations = $0.violations.suffix(31) + [violation] }
        // Readers handle this themselves.
        case .timeout, .notConnected: return
        case .invalidArgument, .unreachable, .authentication, .tls, .unsupportedServer, .noResponders,
            .wrongLastSequence,
            .streamFull, .quotaExceeded, .tooLarge, .notFound, .unavailable, .differentSettings, .other:
            break
        }
        tell(.failed(error))
    }

    /// Parses the server's message `Permissions Violation for Publish to "ev.x"`.
    private static func missingPermission(_ text: String) -> String {
        guard let match = text.firstMatch(of: #/(?i)violation for (publish|subscription) to "([^"]*)"/#) else {
            return "the user has no permission for something: " + text
        }
        return "the user may not \(match.1.lowercased() == "publish" ? "publish" : "subscribe") to \(match.2)"
    }

    private func tell(_ news: News) {
        let isOurs = state.withLock { state in
            state.news.add(news)
            return state.news.begin()
        }
        guard isOurs else { return }
        while let (news, observers) = state.withLock({ state in state.news.next().map { ($0, state.observers) } }) {
            for (_, observer) in observers { observer(news) }
        }
    }

    // MARK: Calls

    /// The current connection of libnats, if any.
    var link: NATSLink? {
        state.withLock { state in
            if case .connected(let link) = state.status { link } else { nil }
        }
    }

    /// Runs `body`, which blocks, after pending calls.
    ///
    /// - Parameters:
    ///   - task: A description of the call, for the beginning of an error message.
    ///   - subject: The subject of the call, for which a timeout may be a missing permission.
    ///   - limit: The time after which an answer is ignored, because libnats waits by the wall clock, which can be set.
    func call<Value: Sendable>(
        _ task: String, subject: String? = nil, limit: Duration? = nil, on queue: BlockingCalls? = nil,
        _ body: @escaping @Sendable (NATSLink) throws(NATSError) -> Value,
        then: @escaping @Sendable (Result<Value, NATSError>) -> Void
    ) {
        (queue ?? calls).run { [self] in
            guard let link else {
                return then(.failure(NATSError(.notConnected, "\(task) failed: there is no connection to a server")))
            }
            let start = MonotonicInstant.now
            do throws(NATSError) {
                let value = try body(link)
                if let limit, MonotonicInstant.now - start > limit {
                    throw NATSError(.timeout, "\(task) failed: the answer came too late")
                }
                then(.success(value))
            } catch {
                then(.failure(explained(error, subject: subject, since: start)))
            }
        }
    }

    func call<Value: Sendable>(
        _ task: String, subject: String? = nil, limit: Duration? = nil, on queue: BlockingCalls? = nil,
        _ body: @escaping @Sendable (NATSLink) throws(NATSError) -> Value
    ) async throws(NATSError) -> Value {
        try await result { done in
            self.call(task, subject: subject, limit: limit, on: queue, body, then: done)
        }.get()
    }

    private func result<Value: Sendable>(
        _ body: (@escaping @Sendable (Result<Value, NATSError>) -> Void) -> Void
    ) async -> Result<Value, NATSError> {
        await withCheckedContinuation { continuation in body { continuation.resume(returning: $0) } }
    }

    /// Returns the missing permission that explains a timeout, if any, or else the error.
    func explained(_ error: NATSError, subject: String?, since start: MonotonicInstant) -> NATSError {
        guard error.kind == .timeout, let subject else { return error }
        let isForbidden = state.withLock { state in
            state.violations.contains { $0.time >= start && $0.text.contains("\"\(subject)") }
        }
        return isForbidden
            ? NATSError(.permission, "the user may not publish or subscribe to \(subject)", jsErrCode: error.jsErrCode)
            : error
    }
}
