extension PusherConnection {
    /// The global bindings, where older clients have them. New code binds to the ``Pusher`` itself.
    public var globalChannel: GlobalChannel { GlobalChannel(core) }
}

/// The bindings to every event of every channel, for programs that were written for older clients.
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

    /// Unbinds one binding. An unknown id unbinds nothing.
    public func unbind(callbackId: String) { core.unbindGlobally(callbackId) }

    /// Unbinds all.
    public func unbindAll() { core.hub.unbindAll(from: nil) }
}
