import Basics
import CurlTransport
import PusherProtocol
public import Realtime

/// A client of one application on a server that speaks the Pusher protocol.
///
///     let pusher = Pusher(key: "app-key", options: PusherClientOptions(host: .cluster("eu")))
///     pusher.subscribe("prices").bind(eventName: "price") { event in print(event.data ?? "") }
///     pusher.connect()
///
/// The client runs as long as this object lives: releasing the last reference closes the connection, ends every
/// sequence and stops every callback. You can use it from any thread. Calls return at once, and their effects happen in
/// the order of the calls.
public final class Pusher: Sendable {
    /// The version of this library.
    public static let version = LibraryVersion.current

    /// The connection and its settings.
    public let connection: PusherConnection
    /// The user that the client can sign in as.
    public let user: PusherUser
    let core: ClientCore

    /// Creates a client that is not connected yet.
    ///
    /// - Parameters:
    ///   - key: The application's key.
    ///   - options: An invalid option, such as an impossible host, is reported as an error when the client connects.
    public init(key: String, options: PusherClientOptions = PusherClientOptions()) {
        core = ClientCore(key: key, options: options)
        connection = PusherConnection(core)
        user = PusherUser(core: core)
    }

    deinit {
        core.shutDown()
    }

    /// An object that is notified of what happens. Held weakly: see ``PusherConnection/delegate``.
    public var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    /// Connects, and stays connected until ``disconnect()``. If a retry is pending, it happens now. Does nothing when
    /// connected or connecting.
    public func connect() { connection.connect() }

    /// Disconnects, or stops trying to connect. Subscriptions are kept for the next ``connect()``.
    public func disconnect() { connection.disconnect() }

    /// Switches to another cluster, or any other server, and keeps all channels and bindings. Reconnects at once unless
    /// disconnected.
    ///
    /// - Parameters:
    ///   - key: The application's key on the new server; pass `nil` to keep the current key.
    ///   - host: The new server. Port, path and TLS don't change unless this is a URL, which sets them.
    public func switchCluster(key: String? = nil, host: PusherHost) {
        core.perform { machine, now in
            var endpoint = machine.endpoint
            endpoint.key = key ?? endpoint.key
            let address = host.address
            endpoint.host = address?.host ?? host.stringValue
            if let address { (endpoint.port, endpoint.path) = (address.port, address.path ?? "") }
            endpoint.usesTLS = address?.usesTLS ?? endpoint.usesTLS
            machine.move(to: endpoint, now: now)
        }
    }

    // MARK: Channels

    /// Subscribes to a channel, now or once connected, and again after every reconnect.
    ///
    /// Returns the existing channel if it is subscribed or subscribing, and retries a channel whose subscription
    /// failed. A name that breaks the protocol's rules is reported as an error, and the returned channel stays
    /// unsubscribed.
    ///
    /// - Parameters:
    ///   - auth: A signature that the application already has, used once.
    ///   - onMemberAdded: Called when a user joins a presence channel.
    ///   - onMemberRemoved: Called when a user has left a presence channel.
    ///   - onSubscriptionCountChanged: Called with the number of connections subscribed to the channel, if the server
    ///     reports it.
    @preconcurrency
    @discardableResult
    public func subscribe(
        _ channelName: String, auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherChannel {
        core.subscribe(
            to: channelName,
            handlers: ClientCallbacks.Handlers(
                memberAdded: onMemberAdded, memberRemoved: onMemberRemoved,
                subscriptionCountChanged: onSubscriptionCountChanged, auth: auth))
    }

    /// Subscribes to a channel, like ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
    @preconcurrency
    @discardableResult
    public func subscribe(
        channelName: String, auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherChannel {
        subscribe(
            channelName, auth: auth, onMemberAdded: onMemberAdded, onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged)
    }

    /// Subscribes to a presence channel. A name without the prefix `presence-` is reported as an error.
    @preconcurrency
    @discardableResult
    public func subscribeToPresenceChannel(
        channelName: String, auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherPresenceChannel {
        core.subscribeToPresenceChannel(
            channelName,
            handlers: ClientCallbacks.Handlers(
                memberAdded: onMemberAdded, memberRemoved: onMemberRemoved,
                subscriptionCountChanged: onSubscriptionCountChanged, auth: auth))
    }

    /// Subscribes to a presence channel, like
    /// ``subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
    @preconcurrency
    @discardableResult
    public func subscribeToPresenceChannel(
        _ channelName: String, auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherPresenceChannel {
        subscribeToPresenceChannel(
            channelName: channelName, auth: auth, onMemberAdded: onMemberAdded, onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged)
    }

    /// Unsubscribes from a channel and removes its bindings. Once this has returned to the callback queue, no event of
    /// the channel is delivered. Ignores unknown names.
    public func unsubscribe(_ channelName: String) { core.unsubscribe(from: channelName) }

    /// Unsubscribes from every channel.
    public func unsubscribeAll() { core.unsubscribeAll() }

    // MARK: Global bindings

    /// Calls back for every event of every channel, before the channel's own bindings. This includes the protocol's
    /// public events, such as `pusher:subscription_succeeded`, `pusher:member_added`, `pusher:ping` and `pusher:error`.
    /// The delegate and ``errors`` report all errors, not only those that the server sends.
    ///
    /// - Returns: The id for ``unbind(callbackId:)``.
    @preconcurrency
    @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.bindGlobally(eventCallback)
    }

    /// Like ``bind(eventCallback:)``, but with the whole message as a dictionary: `event`, `channel`, `data` (parsed if
    /// it is JSON) and `user_id`.
    @_disfavoredOverload
    @preconcurrency
    @discardableResult
    public func bind(_ callback: @escaping @Sendable (Any?) -> Void) -> String {
        core.bindGlobally(message: callback)
    }

    /// Removes one global binding. Ignores an unknown id.
    public func unbind(callbackId: String) { core.unbindGlobally(callbackId) }

    /// Removes all global bindings.
    public func unbindAll() { core.hub.unbindAll(from: nil) }

    /// Returns every event of every channel, as ``bind(eventCallback:)`` delivers them.
    public func events(buffering policy: EventBufferingPolicy = .default) -> EventSequence<PusherEvent> {
        core.events(on: nil, channelName: nil, named: nil, policy: policy)
    }

    /// All errors, including failed subscriptions and sign-ins. Buffers the newest 1,024 for a slow reader.
    public var errors: EventSequence<PusherError> { core.observe { $0.error } }

    /// The periods in which channels may have missed events. Buffers the newest 65,536 for a slow reader. See
    /// ``PusherChannel/onGap``.
    public var gaps: EventSequence<PusherGap> {
        core.observe(limit: 65_536) { notice in
            guard case .gap(_, let name, let start, let end) = notice else { return nil }
            return PusherGap(channelName: name, from: start, to: end, now: .now)
        }
    }
}

extension ClientMachine.Notice {
    /// The error that this notice reports.
    var error: PusherError? {
        switch self {
        case .error(let error), .subscriptionFailed(_, let error, _, _), .signInFailed(let error, _),
            .readingHeld(let error), .readingResumed(let error, _):
            error
        case .stateChanged, .events, .subscribed, .decryptionFailed, .memberAdded, .memberRemoved, .subscriptionCount,
            .gap, .signedIn, .watchlistChanged, .pingAnswered, .sourceStateChanged:
            nil
        }
    }
}
