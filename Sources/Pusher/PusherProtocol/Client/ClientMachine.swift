package import Basics
package import Realtime
package import Transport

/// A whole Pusher client as a value: the connection, its channels, and what they ask for.
///
/// Events append orders to `actions` and what the application is told to `notices`, which are taken as the first action.
package struct ClientMachine: Machine {
    package struct Configuration: Sendable {
        package var connection = ConnectionMachine.Configuration()
        /// Requests for authorization under way at a time.
        package var maximumAuthRequests = 8
        /// For one authorization, however it is made.
        package var authTimeout = Duration.seconds(30)
        /// For the server's answer to a subscription.
        package var subscriptionTimeout = Duration.seconds(30)
        /// Client events that wait for one channel's subscription.
        package var maximumUnsentEvents = 100
        /// Bytes of events of one encrypted channel that wait for a newer key.
        package var maximumSealedBytes = 16 << 20
        /// How often one authorization is tried again after a failure that may pass, each time after `authRetryDelay`.
        package var maximumAuthRetries = 0
        package var authRetryDelay = Duration.seconds(1)
        /// Client events sent in any second; more wait. Nil: no limit.
        package var clientEventRateLimit: Int?

        package init() {}
    }

    package enum Action: Sendable {
        /// Passes these on to the application, in order.
        case tell([Notice])
        case open(ConnectionMachine.TransportID, url: String)
        case close(ConnectionMachine.TransportID)
        case drop(ConnectionMachine.TransportID)
        case send(ConnectionMachine.TransportID, ClientFrame)
        case pauseReading(ConnectionMachine.TransportID, Bool)
        /// To be answered with ``authAnswered(_:_:now:)``.
        case authorize(AuthRequest)
        /// To be answered with ``userAuthAnswered(_:_:now:)``.
        case authorizeUser(AuthRequestID, SocketID)
        /// Nobody waits for the answer any more.
        case cancelAuthorization(AuthRequestID)
    }

    /// What is known of a channel name on this connection.
    struct Entry {
        var id: EventRouter.ChannelID
        /// False while ``ChannelMachine/State/leaving(deadline:)``.
        var isWanted: Bool
        /// False after the end of an earlier subscription on this connection, until the next one succeeds: what comes in
        /// between was sent to the earlier one.
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
    /// The channel of the last event: often the next one is of the same, and needs no hashing then.
    var latestKey: ByteKey?
    /// The entry of `latestKey`.
    var latestEntry: Entry?
    /// Of the present connection and its channels.
    var heads = EventHeads()
    var channels: [EventRouter.ChannelID: ChannelMachine] = [:]
    var lastChannel = 0

    var authorizations = AuthorizationQueue()
    /// Answers that the server owes. An entry whose channel has moved on means nothing.
    var subscriptionDeadlines = Deadlines<EventRouter.ChannelID>()

    /// Of this connection, by channel.
    var owedAnswers: [ByteKey: OwedAnswers] = [:]

    /// Authorizations to be tried again. An entry whose channel has moved on means nothing.
    var authRetries = Deadlines<EventRouter.ChannelID>()
    var user = UserMachine()
    var clientEvents = ClientEventThrottle()
    /// When the connection brought something last.
    var lastHeard: MonotonicInstant?
    /// How the present connection came about, as far as it has.
    package internal(set) var steps = ConnectionSteps()
    /// When the last ping left, until it is answered.
    var pingSentAt: MonotonicInstant?

    var errorLimit = ErrorLimit()
    /// Of this connection.
    var unknownChannels = UnknownChannels()
    /// Of this connection.
    var signedRequests = SignedRequests()
    /// Once is enough for all connections.
    var hasReportedShortActivityTimeout = false
    /// A `pusher:error` that the very next thing, a close, may repeat: then that is what is reported.
    var announcement: Announcement?
    private var readingHolds = ReadingHolds()
    private var isShutDown = false

    package init(endpoint: Endpoint, configuration: Configuration, seed: UInt64) {
        self.endpoint = endpoint
        self.configuration = configuration
        connection = ConnectionMachine(configuration: configuration.connection, seed: seed)
    }

    /// Up to when all that was sent for subscribed channels has come: when the connection brought something last, or, of a channel
    /// that waits for its next subscription, the beginning of its gap. Nil if nothing is subscribed.
    package var completeUntil: MonotonicInstant? {
        channels.values.lazy.filter(\.isWanted).compactMap { $0.isSubscribed ? lastHeard : $0.missingSince }.min()
    }

    package var connectionState: ConnectionState { connection.connectionState }

    /// Whether what `id` brings still counts: it is the live transport, and nobody asked to disconnect.
    package func isReceiving(from id: ConnectionMachine.TransportID) -> Bool { connection.isReceiving(from: id) }

    var isReadingPaused: Bool { readingHolds.isHeld }

    package var reconnectAttempts: Int { connection.attempts }

    package mutating func takeActions() -> [Action] {
        let notices = notices.take()
        defer { actions = [] }
        guard !notices.isEmpty else { return actions }
        return actions.isEmpty ? [.tell(notices)] : [.tell(notices)] + actions
    }

    /// When ``timePassed(now:)`` may have something to do next.
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

    // MARK: What the application asks

    package mutating func connect(now: MonotonicInstant) {
        guard !isShutDown else { return }
        apply(connection.connect(now: now), now: now)
    }

    package mutating func disconnect(now: MonotonicInstant) {
        apply(connection.disconnect(), now: now)
    }

    /// Goes to another server or application with all channels: at once if there is a connection or one is wanted.
    package mutating func move(to endpoint: Endpoint, now: MonotonicInstant) {
        self.endpoint = endpoint
        switch connection.connectionState {
        case .disconnected, .disconnecting: break
        case .connecting, .connected, .reconnecting:
            apply(connection.shutDown(), now: now)
            connect(now: now)
        }
    }

    /// The client goes away: ends everything at once, for good.
    package mutating func shutDown(now: MonotonicInstant) {
        isShutDown = true
        readingHolds = ReadingHolds()
        apply(connection.shutDown(), now: now)
    }

    // MARK: What the transport reports

    /// The connection below the WebSocket is there, or cannot be had.
    package mutating func transportReached(_ id: ConnectionMachine.TransportID, _ times: ConnectionTimes) {
        if connection.isReceiving(from: id) { steps.network = times }
    }

    /// The WebSocket is there; the protocol's handshake is next.
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

    /// Ends a transport because of `code`, which says what comes next.
    mutating func end(
        _ id: ConnectionMachine.TransportID, isAlive: Bool, draft: ErrorDraft, code: CloseCode, now: MonotonicInstant
    ) {
        // The code that a `pusher:error` announced counts if the connection then just breaks.
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

    /// `reader` cannot take more events: nothing is read until everybody who held has let go. Outlives connections.
    /// Reported if it lasts longer than the server may be silent.
    package mutating func holdReading(for reader: EventReader, now: MonotonicInstant) {
        guard !isShutDown else { return }
        let wasPaused = isReadingPaused
        readingHolds.hold(reader, now: now)
        if !wasPaused, isReadingPaused { applyReadingPause(now: now) }
    }

    /// Takes back one ``holdReading(for:now:)``.
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

    /// The handshake must be read whatever the application can take, so a pause waits for the end of it.
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

    /// Pings now, as after a long silence. False if no answer can be expected: nothing is connected, or nothing is read.
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

    /// - Parameter draft: What to report if the connection failed because its transport ended.
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

    /// Also for mistakes of the application's, so that they are told in order.
    package mutating func report(_ error: PusherError) {
        if let error = lastHeard.map({ errorLimit.admit(error, now: $0) }) ?? error { notices.append(.error(error)) }
    }
}
