public import Foundation
import PusherProtocol
public import Realtime

/// A channel that was subscribed with ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:)``.
///
/// Once unsubscribed it stays so; subscribing again gives a new object without the old bindings.
///
/// `@unchecked Sendable`: every property is a constant of a Sendable type; only that the class is open to
/// ``PusherPresenceChannel`` keeps the compiler from seeing it.
public class PusherChannel: @unchecked Sendable {
    /// The channel's name.
    public let name: String
    let id: EventRouter.ChannelID
    let core: ClientCore

    init(name: String, id: EventRouter.ChannelID, core: ClientCore) {
        self.name = name
        self.id = id
        self.core = core
    }

    /// Whether the server has confirmed the subscription on the present connection.
    public var subscribed: Bool { core.read { $0.isSubscribed(id) } }

    // MARK: Bindings

    /// Calls back for each event of this name, in order of arrival.
    ///
    /// - Returns: The id for ``unbind(eventName:callbackId:)``.
    @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.bind(to: id, event: eventName, eventCallback)
    }

    /// Calls back for every event of the channel.
    ///
    /// - Returns: The id for ``unbind(callbackId:)``.
    @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.bind(to: id, event: nil, eventCallback)
    }

    /// Unbinds one binding of an event. An id that is not bound to it unbinds nothing.
    public func unbind(eventName: String, callbackId: String) {
        core.unbind(callbackId, from: id, event: eventName)
    }

    /// Unbinds one binding, whatever it was bound to.
    public func unbind(callbackId: String) { core.unbind(callbackId, from: id, event: nil) }

    /// Unbinds everything that was bound to this event by name.
    public func unbindAll(forEventName eventName: String) { core.unbindAll(from: id, event: eventName) }

    /// Unbinds everything on this channel.
    public func unbindAll() { core.unbindAll(from: id) }

    // MARK: Sequences

    /// The events of this name, or with nil all events of the channel, from this call on.
    public func events(
        _ eventName: String? = nil, buffering policy: EventBufferingPolicy = .default
    ) -> EventSequence<PusherEvent> {
        core.events(on: id, named: eventName, policy: policy)
    }

    /// Returns when the channel is subscribed, at once if it is.
    ///
    /// - Throws: ``PusherError`` if the subscription fails or the channel is unsubscribed; `CancellationError` if the
    ///   task is cancelled. Waits as long as the client is not connected.
    public func subscribed() async throws {
        try await core.waitForSubscription(of: id, name: name)
    }

    // MARK: Client events

    /// Sends an event to the other subscribers: at once, or when the subscription has succeeded. The name starts with
    /// `client-`, and the channel is private or presence. What is wrong is reported as an error.
    ///
    /// - Parameter data: Anything that JSON can hold: dictionaries, arrays, strings, numbers, booleans.
    public func trigger(eventName: String, data: Any) {
        core.trigger(eventName, data: JSON.text(data), on: id, channelName: name)
    }

    /// Sends an event to the other subscribers: at once, or when the subscription has succeeded.
    ///
    /// - Throws: ``PusherError`` if the name, the channel or the number of waiting events forbids it, and
    ///   `EncodingError` if `data` cannot be encoded. Nothing is sent then.
    public func trigger(
        _ eventName: String, _ data: some Encodable, encoder: JSONEncoder = JSONEncoder()
    ) throws {
        let text = String(decoding: try encoder.encode(data), as: UTF8.self)
        try core.perform { machine, _ throws(PusherError) in try machine.trigger(eventName, data: text, on: id) }
    }

    /// Client events that wait for the subscription, oldest first.
    public var unsentEvents: [PusherEvent] {
        core.read { $0.unsentEvents(of: id) }.map { PusherEvent(name: $0.event, channel: name, data: $0.data) }
    }
}
