/// The bindings to every event of every channel: what ``Pusher/bind(eventCallback:)`` adds to.
public final class GlobalChannel: Sendable {
    private let core: ClientCore

    init(_ core: ClientCore) {
        self.core = core
    }

    /// See ``Pusher/bind(eventCallback:)``.
    @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        core.bindGlobally(eventCallback)
    }

    /// See ``Pusher/bind(_:)``.
    @_disfavoredOverload
    @discardableResult
    public func bind(_ callback: @escaping @Sendable (Any?) -> Void) -> String {
        let parses = core.options.attemptToReturnJSONObject
        return bind(eventCallback: { callback($0.message(parsed: parses)) })
    }

    /// Unbinds one binding. An unknown id unbinds nothing.
    public func unbind(callbackId: String) { core.unbindGlobally(callbackId) }

    /// Unbinds all.
    public func unbindAll() { core.unbindAllGlobally() }
}
