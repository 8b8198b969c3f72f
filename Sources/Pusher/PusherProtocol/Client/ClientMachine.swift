package import Basics
package import Realtime
package import Transport

/// A whole Pusher client as a value: the connection, its channels, and their requests.
///
/// Events append orders to `actions` and notices for the application to `notices`, which are taken as the first action.
package struct ClientMachine: Machine {
    package struct Configuration: Sendable {
        package var connection = ConnectionMachine.Configuration()
        /// The maximum number of concurrent authorization requests.
        package var maximumAuthRequests = 8
        /// The timeout of one authorization, by any method.
        package var authTimeout = Duration.seconds(30)
        /// The timeout for the server's answer to a subscription.
        package var subscriptionTimeout = Duration.seconds(30)
        /// The maximum number of client events that wait for one channel's subscription.
        package var maximumUnsentEvents = 100
        /// The maximum bytes of events of one encrypted channel that wait for a newer key.
        package var maximumSealedBytes = 16 << 20
        /// The maximum number of retries of an authorization after a temporary failure, each after `authRetryDelay`.
        package var maximumAuthRetries = 0
        package var authRetryDelay = Duration.seconds(1)
        /// The maximum number of client events sent in any second; further events wait. `nil` means no limit.
        package var clientEventRateLimit: Int?

        package init() {}
    }

    package enum Action: Sendable {
        /// Deliver these to the application, in order.
        case tell([Notice])
        case open(ConnectionMachine.TransportID, url: String)
        case close(ConnectionMachine.TransportID)
        case drop(ConnectionMachine.TransportID)
        case send(ConnectionMachine.TransportID, ClientFrame)
        case pauseReading(ConnectionMachine.TransportID, Bool)
        /// Request a signature, and answer with ``authAnswered(_:_:now:)``.
        case authorize(AuthRequest)
        /// Request a user's signature, and answer with ``userAuthAnswered(_:_:now:)``.
        case authorizeUser(AuthRequestID, SocketID)
        /// Cancel a request whose answer is no longer needed.
        case cancelAuthorization(AuthRequestID)
    }

    /// The state of a channel name on this connection.
    struct Entry {
        var id: EventRouter.ChannelID
        /// False while ``ChannelMachine/State/leaving(deadline:)``.
        var isWanted: Bool
        /// False after the end of an earlier subscription on this connection, until the next one succeeds: events in
        /// between were sent to the earlier one.
        var isHeard: Bool
        var isEncrypted: Bool
        var isCached: Bool

        init(id: EventRouter.ChannelID, name: ChannelName, isHeard: Bool = true) {
            self.id = id
            isWanted = true
            self.isHeard = isHeard
            isEncrypted = name.kind == .encrypted
            isCached = name.isCached
        }
    }

    package var configuration: Configuration {
        didSet { connection.configuration = configuration.connection }
    }
    package internal(set) var endpoint: Endpoint
    package internal(set) var socketID: SocketID?
    var actions: [Action] = []
    var notices = NoticeQueue()

    var connection: ConnectionMachine
    var entries: [ByteKey: Entry] = [:] {
        didSet { (latestKey, heads) = (nil, EventHeads()) }
    }
    /// The channel of the last event. Often the next event has the same channel, which then needs no hashing.
    var latestKey: ByteKey?
    /// The entry of `latestKey`.
    var latestEntry: Entry?
    /// The heads on the current connection, by channel.
    var heads = EventHeads()
    var channels: [EventRouter.ChannelID: ChannelMachine] = [:]
    var lastChannel = 0

    var authorizations = AuthorizationQueue()
    /// The deadlines of answers that the server owes. Ignore an entry whose channel has changed state.
    var subscriptionDeadlines = Deadlines<EventRouter.ChannelID>()

    /// The answers owed on this connection, by channel.
    var owedAnswers: [ByteKey: OwedAnswers] = [:]

    /// The times of authorization retries. Ignore an entry whose channel has changed state.
    var authRetries = Deadlines<EventRouter.ChannelID>()
    var user = UserMachine()
    var clientEvents = ClientEventThrottle()
    /// The time at which the connection last received anything.
    var lastHeard: MonotonicInstant?
    /// The completed steps of opening the current connection.
    package internal(set) var steps = ConnectionSteps()
    /// The time at which the last ping was sent, until it is answered.
    var pingSentAt: MonotonicInstant?

    var errorLimit = ErrorLimit()
    /// Reset with each connection.
    var unknownChannels = UnknownChannels()
    /// Reset with each connection.
    var signedRequests = SignedRequests()
    /// Reported only once for all connections.
    var hasReportedShortActivityTimeout = false
    /// A `pusher:error` that an immediately following close may repeat; then the close is reported instead.
    var announcement: Announcement?
    private var readingHolds = ReadingHolds()
    private var isShutDown = false

    package init(endpoint: Endpoint, configuration: Configuration, seed: UInt64) {
        self.endpoint = endpoint
        self.configuration = configuration
        connection = ConnectionMachine(configuration: configuration.connection, seed: seed)
    }

    /// The time up to which all events of the wanted channels have arrived: when the connection last received anything
    /// or, for a channel that waits for its next subscription, the start of its gap. `nil` if nothing is subscribed.
    package var completeUntil: MonotonicInstant? {
        channels.values.lazy.filter(\.isWanted).compactMap { $0.isSubscribed ? lastHeard : $0.missingSince }.min()
    }

    package var connectionState: ConnectionState { connection.connectionState }

    /// Returns whether data from `id` still counts: it is the live transport, and no disconnect was requested.
    package func isReceiving(from id: ConnectionMachine.TransportID) -> Bool { connection.isReceiving(from: id) }

    var isReadingPaused: Bool { readingHolds.isHeld }

    package var reconnectAttempts: Int { connection.attempts }

    package mutating func takeActions() -> [Action] {
        let notices = notices.take()
        defer { actions = [] }
        guard !notices.isEmpty else { return actions }
        return actions.isEmpty ? [.tell(notices)] : [.tell(notices)] + actions
    }

    /// The time at which ``timePassed(now:)`` may next have something to do.
    package var nextDeadline: MonotonicInstant? {
        let subscription = isReadingPaused ? nil : subscriptionDeadlines.first
        return [
            connection.nextDeadline, authorizations.nextDeadline, authRetries.first, subscription,
            user.deadline(isReadingPaused: isReadingPaused),
            clientEvents.nextDeadline, errorLimit.nextDeadline,
            announcement.flatMap { $0.isReported ? nil : $0.deadline },
            readingHolds.nextDeadline(limit: configuration.connection.activityTimeout),
        ].compactMap { $0 }.min()
    }

    // MARK: Calls from the application

    package mutating func connect(now: MonotonicInstant) {
        guard !isShutDown else { return }
        apply(connection.connect(now: now), now: now)
    }

    package mutating func disconnect(now: MonotonicInstant) {
        apply(connection.disconnect(), now: now)
    }

    /// Switches to another server or application with all channels, at once if there is a connection or one is wanted.
    package mutating func move(to endpoint: Endpoint, now: MonotonicInstant) {
        self.endpoint = endpoint
        switch connection.connectionState {
        case .disconnected, .disconnecting: break
        case .connecting, .connected, .reconnecting:
            apply(connection.shutDown(), now: now)
            connect(now: now)
        }
    }

    /// Ends everything at once, for good.
    package mutating func shutDown(now: MonotonicInstant) {
        isShutDown = true
        readingHolds = ReadingHolds()
        apply(connection.shutDown(), now: now)
    }

    // MARK: Reports of the transport

    /// Handles the end of an attempt to open the connection below the WebSocket.
    package mutating func transportReached(_ id: ConnectionMachine.TransportID, _ times: ConnectionTimes) {
        if connection.isReceiving(from: id) { steps.network = times }
    }

    /// Handles an open WebSocket; the protocol's handshake is next.
    package mutating func transportOpened(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) {
        if connection.isReceiving(from: id) { steps.opened(now: now) }
    }

    package mutating func transportClosed(
        _ id: ConnectionMachine.TransportID, _ closure: WebSocketClosure, now: MonotonicInstant
    ) {
        guard connection.transport == id else { return }
        let code = CloseCode(rawValue: Int(closure.code))
        end(id, isAlive: false, draft: ErrorDraft(closure, wasEstablished: socketID != nil), code: code, now: now)
    }

    /// Ends a transport because of `code`, which determines what happens next.
    mutating func end(
        _ id: ConnectionMachine.TransportID, isAlive: Bool, draft: ErrorDraft, code: CloseCode, now: MonotonicInstant
    ) {
        // Use the code that a `pusher:error` announced if the connection then just breaks.
        var code = code
        if code.rawValue < 4000, let announcement, announcement.isDecisive {
            code = CloseCode(rawValue: announcement.code)
        }
        var draft: ErrorDraft? = draft
        if let announcement, announcement.code == code.rawValue {
            draft = announcement.isReported ? nil : announcement.draft
        } else {
            reportAnnouncement()
        }
        announcement = nil
        let disposition: ConnectionMachine.Disposition
        switch code.disposition {
        case .reconnectWithTLS where endpoint.usesTLS: disposition = .stop
        case .reconnectWithTLS:
            endpoint.usesTLS = true
            disposition = .retryImmediately
        case .stop: disposition = .stop
        case .backOff(let atLeast): disposition = draft?.isHopeless == true ? .stop : .backOff(atLeast: atLeast)
        case .reconnectImmediately: disposition = .retryImmediately
        }
        apply(
            connection.transportEnded(id, isAlive: isAlive, disposition: disposition, now: now), draft: draft, now: now)
    }

    /// Pauses reading because `reader` cannot take more events, until every reader has released its hold. Holds outlive
    /// connections. Reports a pause that lasts longer than the server may be silent.
    package mutating func holdReading(for reader: EventReader, now: MonotonicInstant) {
        guard !isShutDown else { return }
        let wasPaused = isReadingPaused
        readingHolds.hold(reader, now: now)
        if !wasPaused, isReadingPaused { applyReadingPause(now: now) }
    }

    /// Releases one ``holdReading(for:now:)``.
    package mutating func releaseReading(for reader: EventReader, now: MonotonicInstant) {
        guard !isShutDown else { return }
        let wasPaused = isReadingPaused
        if let end = readingHolds.release(reader, now: now) {
            notices.append(
                .readingResumed(
                    PusherError(.readingResumed, end.endMessage, channelName: end.reader.channelName),
                    after: end.duration))
        }
        guard wasPaused, !isReadingPaused else { return }
        applyReadingPause(now: now)
        restartSubscriptionDeadlines(now: now)
        restartSignInDeadline(now: now)
    }

    /// Applies a pause of reading after the handshake, which must be read even if the application cannot take more
    /// events.
    mutating func applyReadingPause(now: MonotonicInstant) {
        guard socketID != nil, let transport = connection.transport else { return }
        connection.readingPaused(isReadingPaused, now: now)
        actions.append(.pauseReading(transport, isReadingPaused))
    }

    // MARK: Time and network

    package mutating func timePassed(now: MonotonicInstant) {
        apply(connection.timePassed(now: now), now: now)
        expireAuthorizations(now: now)
        retryAuthorizations(now: now)
        if let announcement, announcement.deadline <= now { reportAnnouncement() }
        if !isReadingPaused { expireSubscriptions(now: now) }
        signInTimePassed(now: now)
        sendThrottledEvents(now: now)
        for error in errorLimit.takeOmitted(now: now) { notices.append(.error(error)) }
        reportReadingHolds(now: now)
    }

    private mutating func reportReadingHolds(now: MonotonicInstant) {
        for hold in readingHolds.takeOverdue(limit: configuration.connection.activityTimeout, now: now) {
            notices.append(
                .readingHeld(PusherError(.readingHeld, hold.message, channelName: hold.reader.channelName)))
        }
    }

    /// Pings now, as after a long silence. Returns false if no answer can be expected: the client is not connected, or
    /// reading is paused.
    package mutating func ping(now: MonotonicInstant) -> Bool {
        guard connection.connectionState == .connected, !isReadingPaused else { return false }
        apply(connection.networkLost(now: now), now: now)
        return true
    }

    package mutating func networkLost(now: MonotonicInstant) {
        apply(connection.networkLost(now: now), now: now)
    }

    package mutating func networkReturned(now: MonotonicInstant) {
        apply(connection.networkReturned(now: now), now: now)
    }

    // MARK: Carrying out the connection's decisions

    /// - Parameter draft: The error to report if the connection failed because its transport ended.
    mutating func apply(
        _ connectionActions: [ConnectionMachine.Action], draft: ErrorDraft? = nil, now: MonotonicInstant
    ) {
        for action in connectionActions {
            switch action {
            case .open(let id):
                steps = ConnectionSteps(startedAt: now)
                actions.append(.open(id, url: endpoint.url))
            case .close(let id): actions.append(.close(id))
            case .drop(let id): actions.append(.drop(id))
            case .ping(let id):
                pingSentAt = now
                actions.append(.send(id, .ping))
            case .failed(let failure, let next):
                switch failure {
                case .transportEnded: draft.map { report($0.error(next: next)) }
                case .connectTimedOut: report(ErrorDraft.connectTimedOut(endpoint, after: steps).error(next: next))
                case .pongTimedOut: report(ErrorDraft.pongTimedOut(endpoint).error(next: next))
                }
            case .changed(let old, let new):
                if new != .connected { connectionEnded() }
                notices.append(.stateChanged(from: old, to: new))
            }
        }
    }

    private mutating func connectionEnded() {
        guard socketID != nil else { return }
        socketID = nil
        heads = EventHeads()
        reportAnnouncement()
        announcement = nil
        pingSentAt = nil
        unknownChannels = UnknownChannels()
        signedRequests = SignedRequests()
        forgetUser()
        forgetSubscriptions()
    }

    /// Reports an error. Also used for mistakes in the application, to report them in order.
    package mutating func report(_ error: PusherError) {
        if let error = lastHeard.map({ errorLimit.admit(error, now: $0) }) ?? error { notices.append(.error(error)) }
    }
}
