/// The bindings to every event of every channel: what ``Pusher/bind(eventCallback:)`` adds to.
public final class GlobalChannel: Sendable {
    private let core: ClientCore

    init(_ core: ClientCore) {
        self.core = core
    }

    /// See ``Pusher/bind(eventCallback:)``.
    @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.hub.bind(to: nil, eventCallback)?.string ?? "closed"
    }

    /// See ``Pusher/bind(_:)``.
    @_disfavoredOverload
    @discardableResult
    public func bind(_ callback: @escaping @Sendable (Any?) -> Void) -> String {
        let parses = core.options.attemptToReturnJSONObject
        return bind(eventCallback: { callback($0.message(parsed: parses)) })
    }

    /// Unbinds one binding. An unknown id unbinds nothing.
    public func unbind(callbackId: String) {
        EventRouter.BindingID(string: callbackId).map { core.hub.unbind($0, from: nil) }
    }

    /// Unbinds all.
    public func unbindAll() { core.hub.unbindAll(from: nil) }
}
