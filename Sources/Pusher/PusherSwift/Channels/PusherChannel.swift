import Basics
public import Foundation
import JSONBytes
import PusherProtocol
public import Realtime

/// A channel subscribed with ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
///
/// An unsubscribed channel stays unsubscribed; subscribing again returns a new object without the old bindings.
///
/// `@unchecked Sendable` like ``PusherEventEmitter``.
public class PusherChannel: PusherEventEmitter, @unchecked Sendable {
    /// The channel's name.
    public let name: String

    override var channelName: String? { name }

    init(name: String, id: EventRouter.ChannelID, core: ClientCore) {
        self.name = name
        super.init(id: id, core: core)
    }

    /// Whether the server has confirmed the subscription on the current connection. For a channel of another source:
    /// whether that source is attached.
    public var subscribed: Bool {
        core.isSourceChannel(name) ? core.hasSource(of: name) : core.read { $0.isSubscribed(id) }
    }

    /// The type of the channel, as given by its name.
    public var type: PusherChannelType { PusherChannelType(name: name) }

    /// The signature passed to the last
    /// ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``; `nil` if there was none.
    public var auth: PusherAuth? { core.callbacks.withLock { $0.channels[id]?.handlers.auth } }

    /// The number of connections subscribed to the channel; `nil` unless the server reports it, which is a setting of
    /// the application.
    public var subscriptionCount: Int? { core.read { $0.subscriptionCount(of: id) } }

    /// Called when ``subscriptionCount`` changes. Bindings receive it as `pusher:subscription_count`.
    public var onSubscriptionCountChanged: (@Sendable (Int) -> Void)? {
        get { core.callbacks.withLock { $0.channels[id]?.handlers.subscriptionCountChanged } }
        set { core.setHandlers(of: id) { $0.subscriptionCountChanged = newValue } }
    }

    /// Called when the channel is subscribed again after its connection was lost or closed, with the period in which
    /// events may have been missed. Use it to fetch them from elsewhere. It runs in its own task, concurrently with
    /// events that arrive meanwhile.
    public var onGap: (@Sendable (PusherGap) async -> Void)? {
        get { core.callbacks.withLock { $0.channels[id]?.handlers.gap } }
        set { core.setHandlers(of: id) { $0.gap = newValue } }
    }

    // MARK: Subscription

    /// Waits until the channel is subscribed; returns at once if it is.
    ///
    /// - Throws: ``PusherError`` if the subscription fails or the channel is unsubscribed; `CancellationError` if the
    ///   task is cancelled. Keeps waiting while the client is not connected.
    public func subscribed() async throws {
        if core.isSourceChannel(name), core.hasSource(of: name) { return }
        try await core.waitForSubscription(of: id, name: name)
    }

    // MARK: Client events

    /// Sends an event to the other subscribers, at once or after the subscription has succeeded. The name must start
    /// with `client-`, and the channel must be private or presence. Mistakes are reported as errors.
    ///
    /// - Parameter data: Any JSON value: dictionaries, arrays, strings, numbers, booleans.
    public func trigger(eventName: String, data: Any) {
        core.trigger(eventName, data: JSON.text(data), on: id, channelName: name)
    }

    /// Sends an event to the other subscribers, at once or after the subscription has succeeded.
    ///
    /// - Throws: ``PusherError`` if the name, the channel or the number of waiting events forbids it, and
    ///   `EncodingError` if `data` cannot be encoded. Nothing is sent then.
    public func trigger(
        _ eventName: String, _ data: some Encodable, encoder: JSONEncoder = JSONEncoder()
    ) throws {
        let text = String(decoding: try encoder.encode(data), as: UTF8.self)
        try core.perform { machine, now throws(PusherError) in
            try machine.trigger(eventName, data: text, on: id, now: now)
        }
    }

    /// Sends an event to the other subscribers, at once or after the subscription has succeeded.
    ///
    /// - Parameter json: JSON text, sent unchanged.
    /// - Throws: ``PusherError`` if `json` is not JSON, or the name, the channel, the size or the number of waiting
    ///   events forbids it. Nothing is sent then.
    public func trigger(_ eventName: String, json: String) throws(PusherError) {
        guard JSONView.isJSON(json) else {
            throw PusherError(
                .clientEventRejected, "“\(eventName.prefix(200))” was not sent: its data is not JSON", channelName: name
            )
        }
        try core.perform { machine, now throws(PusherError) in
            try machine.trigger(eventName, data: json, on: id, now: now)
        }
    }

    /// The client events that wait for the subscription, oldest first.
    public var unsentEvents: [PusherEvent] {
        core.read { $0.unsentEvents(of: id) }.map { PusherEvent(name: $0.event, channel: name, data: $0.data) }
    }
}

/// The kinds of channel.
public enum PusherChannelType: Sendable, Hashable {
    /// Authorized by the application's server; encrypted channels are of this kind too.
    case `private`
    /// Authorized, with a list of members.
    case presence
    /// Open to all.
    case normal

    /// Creates the type of a channel with this name.
    public init(name: String) {
        self = name.hasPrefix("private-") ? .private : name.hasPrefix("presence-") ? .presence : .normal
    }
}
