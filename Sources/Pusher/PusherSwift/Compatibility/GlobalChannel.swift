extension PusherConnection {
    /// The global bindings, where older clients expect them. In new code, bind to the ``Pusher`` itself.
    public var globalChannel: GlobalChannel { GlobalChannel(core) }
}

/// The bindings to every event of every channel, for programs written for older clients.
public final class GlobalChannel: Sendable {
    private let core: ClientCore

    fileprivate init(_ core: ClientCore) {
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
        core.bindGlobally(message: callback)
    }

    /// Removes one binding. Ignores an unknown id.
    public func unbind(callbackId: String) { core.unbindGlobally(callbackId) }

    /// Removes all bindings.
    public func unbindAll() { core.hub.unbindAll(from: nil) }
}
