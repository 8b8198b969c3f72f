import PusherProtocol
import Realtime
import Transport

/// Channels as the application holds them.
extension ClientCore {
    func subscribe(to name: String, handlers: Bindings.Handlers) -> PusherChannel {
        if isSourceChannel(name) { return sourceChannel(named: name) }
        do throws(InvalidChannelName) {
            let channelName = try ChannelName(name)
            guard channelName.kind != .serverToUser else {
                throw InvalidChannelName(name: name, rule: "names that start with # are for internal use")
            }
            return subscribe(to: channelName, handlers: handlers)
        } catch {
            report(PusherError(.invalidArgument, error.description))
            return PusherChannel(name: name, id: .none, core: self)
        }
    }

    func subscribeToPresenceChannel(
        _ name: String, handlers: Bindings.Handlers
    ) -> PusherPresenceChannel {
        guard name.hasPrefix("presence-") else {
            report(PusherError(.invalidArgument, "“\(name.prefix(200))” is not the name of a presence channel"))
            return PusherPresenceChannel(name: name, id: .none, core: self)
        }
        return subscribe(to: name, handlers: handlers) as? PusherPresenceChannel
            ?? PusherPresenceChannel(name: name, id: .none, core: self)
    }

    private func subscribe(
        to name: ChannelName, handlers: Bindings.Handlers
    ) -> PusherChannel {
        // Both locks in this order, so that the bindings exist before the first event can ask for them.
        let (channel, old) = bindings.withLock { bindings -> (PusherChannel, Bindings.Handlers?) in
            let auth = handlers.auth.map { AuthAnswer($0) }
            let (id, isNew) = perform { machine, now in machine.subscribe(to: name, auth: auth, now: now) }
            if !isNew, let channel = bindings.channelObjects[id] {
                let old = bindings.handlers[id]
                bindings.handlers[id]?.update(with: handlers)
                return (channel, old)
            }
            let channel =
                name.kind == .presence
                ? PusherPresenceChannel(name: name.string, id: id, core: self)
                : PusherChannel(name: name.string, id: id, core: self)
            guard !bindings.isClosed else { return (channel, nil) }
            bindings.router.addChannel(id)
            bindings.channelObjects[id] = channel
            bindings.handlers[id] = handlers
            return (channel, nil)
        }
        _ = old  // let go of after the lock
        return channel
    }

    func unsubscribe(from name: String) {
        if isSourceChannel(name) { return forgetSourceChannel(named: name) }
        let remains = bindings.withLock { bindings -> Bindings.Remains? in
            let id = perform { machine, now in machine.unsubscribe(from: name, now: now) }
            return id.map { bindings.removeChannel($0) }
        }
        remains?.end()
    }

    func unsubscribeAll() {
        let names = read { $0.channelNames } + bindings.withLock { $0.sourceChannels.names }
        for name in names { unsubscribe(from: name) }
    }

    var allChannels: [String: PusherChannel] {
        bindings.withLock { bindings in
            Dictionary(bindings.channelObjects.values.map { ($0.name, $0) }) { _, latest in latest }
        }
    }

    func channel(named name: String) -> PusherChannel? {
        bindings.withLock { bindings in
            read { $0.channelID(named: name) }.flatMap { bindings.channelObjects[$0] }
        }
    }

    // MARK: Bindings

    func bindGlobally(_ handler: @escaping EventRouter.Handler) -> String {
        bindings.withLock { bindings in
            bindings.isClosed ? "closed" : bindings.router.bindGlobally(handler).string
        }
    }

    func unbindGlobally(_ id: String) {
        guard let id = EventRouter.BindingID(string: id) else { return }
        _ = bindings.withLock { $0.router.unbindGlobally(id) }
    }

    func unbindAllGlobally() {
        _ = bindings.withLock { $0.router.unbindAllGlobally() }
    }

    func bind(
        to channel: EventRouter.ChannelID, event: String?, _ handler: @escaping EventRouter.Handler
    ) -> String {
        bindings.withLock { bindings in
            bindings.isLive(channel) ? bindings.router.bind(to: channel, event: event, handler).string : "closed"
        }
    }

    func unbind(_ id: String, from channel: EventRouter.ChannelID, event: String?) {
        guard let id = EventRouter.BindingID(string: id) else { return }
        _ = bindings.withLock { $0.router.unbind(id, from: channel, event: event) }
    }

    func unbindAll(from channel: EventRouter.ChannelID, event: String? = nil) {
        _ = bindings.withLock { bindings in
            event.map { bindings.router.unbindAll(from: channel, event: $0) }
                ?? bindings.router.unbindAll(from: channel)
        }
    }

    /// The old handlers are let go of after the lock.
    func setHandlers(of id: EventRouter.ChannelID, _ change: (inout Bindings.Handlers) -> Void) {
        _ = bindings.withLock { bindings -> Bindings.Handlers? in
            guard var handlers = bindings.handlers[id] else { return nil }
            change(&handlers)
            return bindings.handlers.updateValue(handlers, forKey: id)
        }
    }

    // MARK: Client events

    /// - Parameter data: JSON text; nil if the application's value has none.
    func trigger(_ event: String, data: String?, on channel: EventRouter.ChannelID, channelName: String) {
        do throws(PusherError) {
            guard let data else {
                throw PusherError(
                    .clientEventRejected, "“\(event.prefix(200))” was not sent: its data cannot be written as JSON",
                    channelName: channelName)
            }
            try perform { machine, now throws(PusherError) in
                try machine.trigger(event, data: data, on: channel, now: now)
            }
        } catch {
            report(error)
        }
    }

    /// Reports a mistake of the application's in order with everything else.
    func report(_ error: PusherError) {
        perform { machine, _ in machine.report(error) }
    }
}

extension EventRouter.ChannelID {
    /// Of a channel that cannot be subscribed.
    static let none = EventRouter.ChannelID(number: 0)
}

extension EventRouter.BindingID {
    fileprivate var string: String { String(number) }

    fileprivate init?(string: String) {
        guard let number = Int(string) else { return nil }
        self.init(number: number)
    }
}
