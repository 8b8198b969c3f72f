import Basics
import PusherProtocol

/// The whole state of one application: its connections and their subscriptions. Holds no socket, clock or task.
///
/// Events append actions, which the owner takes and carries out. ``nextDeadline`` is the time of the next call if no
/// event occurs.
struct ApplicationState {
    static let maximumEventNameLength = 200
    /// The maximum bytes of an event's `data`.
    static let maximumDataSize = 10_240

    struct Connection {
        var channels: Set<ByteKey> = []
        var clientEvents: RateLimiter
        /// The signed-in user; `nil` until the connection signs in.
        var user: UserData?
        /// The time at which the connection is closed if it has not been authorized.
        var authorizationDeadline: MonotonicInstant?
    }

    var app: PusherMockServer.App
    let credentials: AppCredentials
    let frames: FrameWriter
    var connections: [SocketID: Connection] = [:]
    /// The occupied channels.
    var channels: [ByteKey: ChannelState] = [:]
    /// The connections of each signed-in user.
    var users: [ByteKey: Set<SocketID>] = [:]
    var cache: EventCache
    /// Cache channels whose miss was reported, until an event is published or the last subscriber leaves.
    var toldMisses: Set<ByteKey> = []
    var counts = CountAnnouncements()
    var departures: Departures
    private var actions: [ServerAction] = []

    init(app: PusherMockServer.App, profile: PusherMockServer.Profile = .vendor) {
        self.app = app
        credentials = AppCredentials(key: app.key, secret: app.secret)
        frames = FrameWriter(profile: profile)
        cache = EventCache(lifetime: app.cacheLifetime)
        departures = Departures(delay: app.webhooks?.departureDelay ?? .zero)
    }

    var profile: PusherMockServer.Profile { frames.profile }

    /// The occupied channels, except those that carry the events of single users.
    var listedChannels: [ChannelState] {
        channels.values.filter { $0.name.kind != .serverToUser }.sorted { $0.name.string < $1.name.string }
    }

    /// Returns the key of an encrypted channel, if the application has a master key.
    func encryptionKey(of channel: ChannelName) -> ChannelKey? {
        guard channel.kind == .encrypted else { return nil }
        return app.encryptionMasterKey.flatMap { EncryptionMasterKey(base64: $0) }?.key(of: channel)
    }

    // MARK: Actions

    mutating func takeActions() -> [ServerAction] {
        defer { actions.removeAll() }
        return actions
    }

    mutating func send(_ frame: String, to recipients: [SocketID]) {
        if !recipients.isEmpty { actions.append(.send(frame, to: recipients)) }
    }

    mutating func sendError(_ message: String, code: Int? = nil, channel: String? = nil, to socketID: SocketID) {
        send(frames.error(code: code, message: message, channel: channel), to: [socketID])
    }

    mutating func close(_ socketID: SocketID, code: Int, reason: String) {
        sendError(reason, code: code, to: socketID)
        actions.append(.close(socketID, code: code, reason: reason))
    }

    mutating func tell(_ event: WebhookEvent) {
        if app.webhooks != nil { actions.append(.tell(event)) }
    }

    mutating func log(_ entry: PusherMockServer.LogEntry) {
        actions.append(.log(entry))
    }

    // MARK: Connections

    mutating func connectionOpened(_ socketID: SocketID, now: MonotonicInstant) {
        connections[socketID] = Connection(
            clientEvents: RateLimiter(limit: app.clientEventRateLimit),
            authorizationDeadline: app.authorizationTimeout.map { now + $0 })
        let timeout = app.activityTimeout ?? profile.activityTimeout
        send(frames.connectionEstablished(socketID: socketID.string, activityTimeout: timeout), to: [socketID])
    }

    mutating func connectionClosed(_ socketID: SocketID, now: MonotonicInstant) {
        guard let connection = connections.removeValue(forKey: socketID) else { return }
        for channel in connection.channels.map(\.string).sorted() { leave(channel, socketID, now: now) }
        if let user = connection.user { signedOut(socketID, of: user.key) }
    }

    /// Answers one text frame.
    mutating func received(_ text: String, from socketID: SocketID, now: MonotonicInstant) {
        let message: ClientMessage
        do {
            message = try ClientMessage(parsing: text)
        } catch {
            return reject(error.message, from: socketID)
        }
        switch message {
        case .ping: send(frames.pong, to: [socketID])
        case .pong: break
        case .subscribe(let request): subscribe(socketID, request, now: now)
        case .unsubscribe(let channel): unsubscribe(socketID, from: channel, now: now)
        case .signIn(let auth, let userData): signIn(socketID, auth: auth, userData: userData)
        case .clientEvent(let event): clientEvent(event, from: socketID, now: now)
        case .unsupported(let event):
            reject("Unsupported event received on socket: \(event.prefix(200))", from: socketID)
        }
    }

    /// Answers a frame that is not part of the protocol.
    mutating func reject(_ message: String, from socketID: SocketID) {
        switch profile.malformedMessage {
        case .error: sendError(message, to: socketID)
        case .silence: break
        case .invalidFormat: sendError("Invalid message format", code: 4200, to: socketID)
        }
    }

    // MARK: Deadlines

    var nextDeadline: MonotonicInstant? {
        var deadlines = [counts.nextDeadline, departures.nextDeadline].compactMap { $0 }
        if app.authorizationTimeout != nil { deadlines += connections.values.compactMap(\.authorizationDeadline) }
        return deadlines.min()
    }

    mutating func deadlinePassed(now: MonotonicInstant) {
        for event in departures.takeDue(now: now) { tell(event) }
        for channel in counts.takeDue(now: now) { tellCount(of: channel) }
        for (socketID, connection) in connections {
            guard let deadline = connection.authorizationDeadline, deadline <= now else { continue }
            connections[socketID]?.authorizationDeadline = nil
            close(socketID, code: 4009, reason: "Connection not authorized within timeout")
        }
    }
}
