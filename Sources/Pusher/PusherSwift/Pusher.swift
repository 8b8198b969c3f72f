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
/// The client runs as long as this object lives: dropping the last reference closes the connection, ends every
/// sequence and stops every callback. It may be used from any thread; calls return at once, and what they cause
/// happens in the order of the calls.
public final class Pusher: Sendable {
    /// The version of this library.
    public static let version = LibraryVersion.current

    /// The connection and what can be set on it.
    public let connection: PusherConnection
    /// The user that the client can be signed in as.
    public let user: PusherUser
    let core: ClientCore

    /// Makes a client that is not connected yet.
    ///
    /// - Parameters:
    ///   - key: The application's key.
    ///   - options: A wrong option (an impossible host, say) shows as an error when connecting.
    public init(key: String, options: PusherClientOptions = PusherClientOptions()) {
        core = ClientCore(key: key, options: options)
        connection = PusherConnection(core)
        user = PusherUser(core: core)
    }

    deinit {
        core.shutDown()
    }

    /// Told what happens. Held weakly: see ``PusherConnection/delegate``.
    public var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    /// Connects, and stays connected until ``disconnect()``. While a retry is waited for: tries now. Nothing to do
    /// when connected or connecting.
    public func connect() { connection.connect() }

    /// Disconnects, or stops trying to connect. Subscriptions are remembered for the next ``connect()``.
    public func disconnect() { connection.disconnect() }

    /// Goes to another cluster, or another server of any kind, with all channels and bindings; over a new connection at
    /// once unless disconnected.
    ///
    /// - Parameters:
    ///   - key: The application's key there; nil keeps it.
    ///   - host: Where it is; port, path and TLS stay as they are, unless it is a URL, which says them.
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

    /// Subscribes to a channel, now or when connected, and again after every reconnect.
    ///
    /// A channel that is subscribed or on the way is returned as it is; one that failed is tried again. A name that
    /// breaks the protocol's rules is reported as an error, and the channel returned stays unsubscribed.
    ///
    /// - Parameters:
    ///   - auth: A signature that the application has already, used once.
    ///   - onMemberAdded: Called when a user arrives, on presence channels.
    ///   - onMemberRemoved: Called when a user has left, on presence channels.
    ///   - onSubscriptionCountChanged: Called with the number of connections subscribed to the channel, if the server
    ///     tells.
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

    /// The same as ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
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

    /// The same as ``subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
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

    /// Unsubscribes: no event of the channel is delivered once this has returned to the callback queue, and its
    /// bindings are gone. Unknown names are fine.
    public func unsubscribe(_ channelName: String) { core.unsubscribe(from: channelName) }

    /// Unsubscribes from every channel.
    public func unsubscribeAll() { core.unsubscribeAll() }

    // MARK: Global bindings

    /// Calls back for every event of every channel, before the channel's own bindings. Includes the protocol's public
    /// events such as `pusher:subscription_succeeded`, `pusher:member_added`, `pusher:ping` and `pusher:error`. The
    /// delegate and ``errors`` tell of all errors, not only of those that the server sends.
    ///
    /// - Returns: The id for ``unbind(callbackId:)``.
    @preconcurrency
    @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.bindGlobally(eventCallback)
    }

    /// The same with the whole message as a dictionary: `event`, `channel`, `data` (parsed if it is JSON) and `user_id`.
    @_disfavoredOverload
    @preconcurrency
    @discardableResult
    public func bind(_ callback: @escaping @Sendable (Any?) -> Void) -> String {
        core.bindGlobally(message: callback)
    }

    /// Unbinds one global binding. An unknown id unbinds nothing.
    public func unbind(callbackId: String) { core.unbindGlobally(callbackId) }

    /// Unbinds all global bindings.
    public func unbindAll() { core.hub.unbindAll(from: nil) }

    /// Every event of every channel, as ``bind(eventCallback:)`` gets them.
    public func events(buffering policy: EventBufferingPolicy = .default) -> EventSequence<PusherEvent> {
        core.events(on: nil, channelName: nil, named: nil, policy: policy)
    }

    /// Everything that goes wrong, failed subscriptions and sign-ins included. Keeps the newest 1,024 for a slow reader.
    public var errors: EventSequence<PusherError> { core.observe { $0.error } }

    /// The times in which channels missed events. Keeps the newest 65,536 for a slow reader. See
    /// ``PusherChannel/onGap``.
    public var gaps: EventSequence<PusherGap> {
        core.observe(limit: 65_536) { notice in
            guard case .gap(_, let name, let start, let end) = notice else { return nil }
            return PusherGap(channelName: name, from: start, to: end, now: .now)
        }
    }
}

extension ClientMachine.Notice {
    /// The error that this notice tells of.
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
