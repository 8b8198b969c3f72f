public import Foundation
public import JSONBytes
import PusherProtocol
public import Realtime

/// A source of events that you can bind to: a channel, the signed-in user, the watchlist.
///
/// `@unchecked Sendable`: every property is a constant of a Sendable type, but the compiler can't see that because the
/// class has subclasses.
public class PusherEventEmitter: @unchecked Sendable {
    let id: EventRouter.ChannelID
    let core: ClientCore

    /// The name of a channel; `nil` for other emitters.
    var channelName: String? { nil }

    init(id: EventRouter.ChannelID, core: ClientCore) {
        self.id = id
        self.core = core
    }

    // MARK: Bindings

    /// Calls back for each event of this name, in order of arrival.
    ///
    /// - Returns: The id for ``unbind(eventName:callbackId:)``.
    @preconcurrency
    @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.hub.bind(to: id, event: eventName, eventCallback)?.string ?? "closed"
    }

    /// Calls back for each event of this name with its data: parsed if it is JSON (`[String: Any]`, `[Any]`, `String`,
    /// numbers), otherwise as text. `nil` without data.
    ///
    /// - Returns: The id for ``unbind(eventName:callbackId:)``.
    @preconcurrency
    @_disfavoredOverload
    @discardableResult
    public func bind(eventName: String, callback: @escaping @Sendable (Any?) -> Void) -> String {
        let parses = core.options.attemptToReturnJSONObject
        return bind(eventName: eventName, eventCallback: { callback($0.value(parsed: parses || $0.isServerError)) })
    }

    /// Calls back for each event of this name with its data decoded. Data of another form is reported as an error of
    /// kind `undecodableData`.
    ///
    /// - Returns: The id for ``unbind(eventName:callbackId:)``.
    @discardableResult
    public func bind<Value: Decodable & Sendable>(
        _ eventName: String, as type: Value.Type, using decoder: JSONBytesDecoder = JSONBytesDecoder(),
        _ callback: @escaping @Sendable (Value) -> Void
    ) -> String {
        bind(eventName, callback) { event throws(PusherError) in try event.decode(type, using: decoder) }
    }

    /// Like the overload above, but with Foundation's decoder.
    @discardableResult
    public func bind<Value: Decodable & Sendable>(
        _ eventName: String, as type: Value.Type, using decoder: JSONDecoder,
        _ callback: @escaping @Sendable (Value) -> Void
    ) -> String {
        bind(eventName, callback) { event throws(PusherError) in try event.decode(type, using: decoder) }
    }

    private func bind<Value>(
        _ eventName: String, _ callback: @escaping @Sendable (Value) -> Void,
        decode: @escaping @Sendable (PusherEvent) throws(PusherError) -> Value
    ) -> String {
        bind(
            eventName: eventName,
            eventCallback: { [weak core] event in
                do throws(PusherError) {
                    callback(try decode(event))
                } catch {
                    core?.report(error)
                }
            })
    }

    /// Calls back for every event.
    ///
    /// - Returns: The id for ``unbind(callbackId:)``.
    @preconcurrency
    @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.hub.bind(to: id, eventCallback)?.string ?? "closed"
    }

    /// Removes one binding of an event. Ignores an id that is not bound to it.
    public func unbind(eventName: String, callbackId: String) {
        EventRouter.BindingID(string: callbackId).map { core.hub.unbind($0, from: id, event: eventName) }
    }

    /// Removes one binding, whatever it was bound to.
    public func unbind(callbackId: String) {
        EventRouter.BindingID(string: callbackId).map { core.hub.unbind($0, from: id) }
    }

    /// Removes all bindings to this event by name. Sequences continue.
    public func unbindAll(forEventName eventName: String) { core.hub.unbindAll(from: id, event: eventName) }

    /// Removes all bindings. Sequences continue.
    public func unbindAll() { core.hub.unbindAll(from: id) }

    // MARK: Sequences

    /// Returns the events of this name, or all events if `nil`, from this call on.
    public func events(
        _ eventName: String? = nil, buffering policy: EventBufferingPolicy = .default
    ) -> EventSequence<PusherEvent> {
        core.events(on: id, channelName: channelName, named: eventName, policy: policy)
    }

    /// Returns the decoded data of the events of this name, from this call on. Data of another form is reported as an
    /// error of kind `undecodableData` and left out.
    public func events<Value: Decodable & Sendable>(
        _ eventName: String, as type: Value.Type, using decoder: JSONBytesDecoder = JSONBytesDecoder(),
        buffering policy: EventBufferingPolicy = .default
    ) -> EventSequence<Value> {
        events(eventName, policy) { event throws(PusherError) in try event.decode(type, using: decoder) }
    }

    /// Like the overload above, but with Foundation's decoder.
    public func events<Value: Decodable & Sendable>(
        _ eventName: String, as type: Value.Type, using decoder: JSONDecoder,
        buffering policy: EventBufferingPolicy = .default
    ) -> EventSequence<Value> {
        events(eventName, policy) { event throws(PusherError) in try event.decode(type, using: decoder) }
    }

    private func events<Value: Sendable>(
        _ eventName: String, _ policy: EventBufferingPolicy,
        decode: @escaping @Sendable (PusherEvent) throws(PusherError) -> Value
    ) -> EventSequence<Value> {
        core.events(on: id, channelName: channelName, named: eventName, policy: policy) { [weak core] event in
            do throws(PusherError) {
                return try decode(event)
            } catch {
                core?.report(error)
                return nil
            }
        }
    }
}
