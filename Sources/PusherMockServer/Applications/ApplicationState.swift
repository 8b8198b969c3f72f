import PusherProtocol
import Transport

/// One frame and the connections that are to get it, so that it is encoded once however many they are.
struct Delivery: Hashable {
    let frame: String
    let recipients: [SocketID]
}

/// Everything one application knows: who is connected, and to what subscribed. Holds no socket, clock or task.
struct ApplicationState {
    static let maximumEventNameLength = 200
    /// Bytes of an event's `data`.
    static let maximumDataSize = 10_240

    struct Connection {
        var channels: Set<String> = []
        var clientEvents: RateLimiter
    }

    let app: PusherMockServer.App
    let credentials: AppCredentials
    private(set) var connections: [SocketID: Connection] = [:]
    /// Occupied channels only.
    private(set) var channels: [String: ChannelState] = [:]

    init(app: PusherMockServer.App) {
        self.app = app
        credentials = AppCredentials(key: app.key, secret: app.secret)
    }

    /// The key of an encrypted channel, if the application has a master key.
    func encryptionKey(of channel: ChannelName) -> ChannelKey? {
        guard channel.kind == .encrypted else { return nil }
        return app.encryptionMasterKey.flatMap { EncryptionMasterKey(base64: $0) }?.key(of: channel)
    }

    // MARK: What happens to connections

    mutating func connectionOpened(_ socketID: SocketID) -> Delivery {
        connections[socketID] = Connection(clientEvents: RateLimiter(limit: app.clientEventRateLimit))
        let frame = ServerFrame.connectionEstablished(
            socketID: socketID.string, activityTimeout: app.activityTimeout)
        return Delivery(frame: frame, recipients: [socketID])
    }

    mutating func connectionClosed(_ socketID: SocketID) -> [Delivery] {
        guard let connection = connections.removeValue(forKey: socketID) else { return [] }
        return connection.channels.sorted().flatMap { leave($0, socketID) }
    }

    /// Answers one text frame, in the order in which the deliveries are to be made.
    mutating func received(_ text: String, from socketID: SocketID, now: MonotonicInstant) -> [Delivery] {
        let message: ClientMessage
        do {
            message = try ClientMessage(parsing: text)
        } catch {
            return [Self.error(error.message, to: socketID)]
        }
        switch message {
        case .ping: return [Delivery(frame: ServerFrame.pong, recipients: [socketID])]
        case .pong: return []
        case .subscribe(let channel, let auth, let channelData):
            do {
                return try subscribe(socketID, to: channel, auth: auth, channelData: channelData)
            } catch {
                return [Self.error(error.message, to: socketID)]
            }
        case .unsubscribe(let channel): return unsubscribe(socketID, from: channel)
        case .clientEvent(let event): return clientEvent(event, from: socketID, now: now)
        case .unsupported(let event):
            return [Self.error("Unsupported event received on socket: \(event.prefix(200))", to: socketID)]
        }
    }

    // MARK: Subscribing

    private mutating func subscribe(
        _ socketID: SocketID, to text: String, auth: String?, channelData: String?
    ) throws(SubscriptionRefusal) -> [Delivery] {
        let name: ChannelName
        do {
            name = try ChannelName(text)
        } catch {
            throw SubscriptionRefusal("Invalid channel name: \(error)")
        }
        guard name.kind != .serverToUser else {
            throw SubscriptionRefusal("Invalid channel name: \(name) is for internal use")
        }
        guard channels[text]?.subscribers[socketID] == nil else {
            throw SubscriptionRefusal("Existing subscription to channel \(name)")
        }
        if name.needsAuthorization {
            try authorize(auth, socketID: socketID, channel: name, channelData: channelData)
        }
        return join(name, socketID, as: try member(of: name, channelData: channelData))
    }

    private func authorize(
        _ auth: String?, socketID: SocketID, channel: ChannelName, channelData: String?
    ) throws(SubscriptionRefusal) {
        guard let auth, !auth.isEmpty else {
            throw SubscriptionRefusal("Auth info required to subscribe to \(channel)")
        }
        let parts = auth.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == credentials.key else {
            throw SubscriptionRefusal("Invalid key in subscription auth data: '\(parts[0].prefix(200))'")
        }
        guard
            credentials.accepts(
                channelAuth: auth, socketID: socketID, channel: channel, channelData: channelData)
        else {
            let signed = ([socketID.string, channel.string] + [channelData].compactMap { $0 }).joined(separator: ":")
            let signature = parts.count == 2 ? parts[1].prefix(200) : ""
            throw SubscriptionRefusal(
                "Invalid signature: Expected HMAC SHA256 hex digest of \(signed), but got \(signature)")
        }
    }

    private func member(of name: ChannelName, channelData: String?) throws(SubscriptionRefusal) -> PresenceMember? {
        guard name.kind == .presence else { return nil }
        let member = try PresenceMember(channelData: channelData, channel: name.string)
        if let channel = channels[name.string], channel.isFull(for: member.userID) {
            throw SubscriptionRefusal(
                "Presence channel \(name) has the allowed maximum of \(ChannelState.maximumMemberCount) members")
        }
        return member
    }

    private mutating func join(_ name: ChannelName, _ socketID: SocketID, as member: PresenceMember?) -> [Delivery] {
        var channel = channels.removeValue(forKey: name.string) ?? ChannelState(name: name)
        let others = Array(channel.subscribers.keys)
        let isFirst = channel.join(socketID, as: member)
        let succeeded = ServerFrame.event(
            "pusher_internal:subscription_succeeded", channel: name.string, text: channel.succeededData)
        channels[name.string] = channel
        connections[socketID]?.channels.insert(name.string)
        var deliveries = [Delivery(frame: succeeded, recipients: [socketID])]
        if let member, isFirst {
            deliveries.append(
                Delivery(frame: ServerFrame.memberAdded(member, channel: name.string), recipients: others))
        }
        return deliveries
    }

    private mutating func unsubscribe(_ socketID: SocketID, from name: String) -> [Delivery] {
        guard connections[socketID]?.channels.remove(name) != nil else {
            let message = "No current subscription to channel \(name.prefix(200)), or subscription in progress"
            return [Self.error(message, to: socketID)]
        }
        return leave(name, socketID)
    }

    private mutating func leave(_ name: String, _ socketID: SocketID) -> [Delivery] {
        guard var channel = channels.removeValue(forKey: name) else { return [] }
        let goneUser = channel.leave(socketID)
        guard !channel.subscribers.isEmpty else { return [] }
        channels[name] = channel
        guard let goneUser else { return [] }
        let frame = ServerFrame.memberRemoved(userID: goneUser, channel: name)
        return [Delivery(frame: frame, recipients: Array(channel.subscribers.keys))]
    }

    // MARK: Events

    private mutating func clientEvent(
        _ event: ClientMessage.ClientEvent, from socketID: SocketID, now: MonotonicInstant
    ) -> [Delivery] {
        if let message = rejection(of: event, from: socketID) { return [Self.error(message, to: socketID)] }
        guard connections[socketID]?.clientEvents.admits(now: now) == true else {
            return [Self.error("Client event rejected due to rate limit", code: 4301, to: socketID)]
        }
        guard let channel = channels[event.channel] else { return [] }
        let frame = ServerFrame.event(
            event.name, channel: event.channel, data: event.data, userID: channel.userID(of: socketID))
        return [Delivery(frame: frame, recipients: channel.subscribers.keys.filter { $0 != socketID })]
    }

    private func rejection(of event: ClientMessage.ClientEvent, from socketID: SocketID) -> String? {
        guard let channel = channels[event.channel], channel.subscribers[socketID] != nil else {
            return "Cannot broadcast client event "
                + "(connection not subscribed to channel \(event.channel.prefix(200)))"
        }
        guard channel.name.allowsClientEvents else {
            return "Client event rejected - only supported on private and presence channels"
        }
        guard app.allowsClientEvents else {
            return "To send client events, you must enable this feature in the Settings page of your dashboard."
        }
        guard event.name.utf8.count <= Self.maximumEventNameLength else {
            return "The event name exceeds the allowed maximum (\(Self.maximumEventNameLength) characters)"
        }
        guard event.dataSize <= Self.maximumDataSize else {
            return "The data content of this event exceeds the allowed maximum (\(Self.maximumDataSize) bytes)"
        }
        return nil
    }

    /// An event from the application's server to all subscribers of `channel` but `excluded`.
    func publication(event: String, channel: String, data: String, except excluded: SocketID? = nil) -> Delivery {
        let subscribers = channels[channel].map { Array($0.subscribers.keys) } ?? []
        return Delivery(
            frame: ServerFrame.event(event, channel: channel, text: data),
            recipients: excluded == nil ? subscribers : subscribers.filter { $0 != excluded })
    }

    private static func error(_ message: String, code: Int? = nil, to socketID: SocketID) -> Delivery {
        Delivery(frame: ServerFrame.error(code: code, message: message), recipients: [socketID])
    }
}
