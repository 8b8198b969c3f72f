import Basics
import PusherProtocol
import Realtime

/// The channel objects that the application holds.
extension ClientCore {
    func subscribe(to name: String, handlers: ClientCallbacks.Handlers) -> PusherChannel {
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
        _ name: String, handlers: ClientCallbacks.Handlers
    ) -> PusherPresenceChannel {
        guard name.hasPrefix("presence-") else {
            report(PusherError(.invalidArgument, "“\(name.prefix(200))” is not the name of a presence channel"))
            return PusherPresenceChannel(name: name, id: .none, core: self)
        }
        return subscribe(to: name, handlers: handlers) as? PusherPresenceChannel
            ?? PusherPresenceChannel(name: name, id: .none, core: self)
    }

    private func subscribe(to name: ChannelName, handlers: ClientCallbacks.Handlers) -> PusherChannel {
        // The bindings exist before the first event can need them.
        let (channel, old) = callbacks.withLock { callbacks -> (PusherChannel, ClientCallbacks.Handlers?) in
            let auth = handlers.auth.map { AuthAnswer($0) }
            let (id, isNew) = perform { machine, now in machine.subscribe(to: name, auth: auth, now: now) }
            if !isNew, let known = callbacks.channels[id] {
                callbacks.channels[id]?.handlers.update(with: handlers)
                return (known.object, known.handlers)
            }
            let channel =
                name.kind == .presence
                ? PusherPresenceChannel(name: name.string, id: id, core: self)
                : PusherChannel(name: name.string, id: id, core: self)
            guard !callbacks.isClosed else { return (channel, nil) }
            hub.addChannel(id)
            callbacks.channels[id] = ClientCallbacks.Channel(object: channel, handlers: handlers)
            return (channel, nil)
        }
        _ = old  // released after the lock
        return channel
    }

    func unsubscribe(from name: String) {
        let isOfSource = isSourceChannel(name)
        let (id, old) = callbacks.withLock { callbacks -> (EventRouter.ChannelID?, ClientCallbacks.Channel?) in
            let id =
                isOfSource
                ? hub.boundChannel(named: name) : perform { machine, now in machine.unsubscribe(from: name, now: now) }
            return (id, id.flatMap { callbacks.channels.removeValue(forKey: $0) })
        }
        _ = old  // released after the lock
        if isOfSource { hub.removeChannel(named: name) } else if let id { hub.removeChannel(id) }
    }

    func unsubscribeAll() {
        for name in read({ $0.channelNames }) + hub.channelNames { unsubscribe(from: name) }
    }

    var allChannels: [String: PusherChannel] {
        callbacks.withLock { callbacks in
            Dictionary(callbacks.channels.values.map { ($0.object.name, $0.object) }) { _, latest in latest }
        }
    }

    func channel(named name: String) -> PusherChannel? {
        callbacks.withLock { callbacks in
            read { $0.channelID(named: name) }.flatMap { callbacks.channels[$0]?.object }
        }
    }

    /// Changes the handlers of a channel. Releases the old ones after the lock.
    func setHandlers(of id: EventRouter.ChannelID, _ change: (inout ClientCallbacks.Handlers) -> Void) {
        _ = callbacks.withLock { callbacks -> ClientCallbacks.Channel? in
            guard var channel = callbacks.channels[id] else { return nil }
            change(&channel.handlers)
            return callbacks.channels.updateValue(channel, forKey: id)
        }
    }

    // MARK: Waiting

    func states() -> EventSequence<ConnectionState> {
        callbacks.withLock { callbacks in
            observe(first: callbacks.announcedState) { notice in
                if case .stateChanged(_, let new) = notice { new } else { nil }
            }
        }
    }

    func waitForSubscription(of channel: EventRouter.ChannelID, name: String) async throws {
        do throws(InvalidChannelName) {
            _ = try ChannelName(name)
        } catch {
            throw PusherError(.invalidArgument, error.description)
        }
        let outcomes = observe(channel) { notice -> Result<Void, PusherError>? in
            if case .subscribed(channel, _) = notice { return .success(()) }
            if case .subscriptionFailed(channel, let error, _, _) = notice { return .failure(error) }
            return nil
        }
        let (isSubscribed, failure) = read { ($0.isSubscribed(channel), $0.failure(of: channel)) }
        if isSubscribed { return }
        if let failure { throw failure }
        for await outcome in outcomes {
            // An outcome may be older than this call, so check the current state.
            if case .failure = outcome, read({ $0.isSubscribing(channel) }) { continue }
            return try outcome.get()
        }
        try Task.checkCancellation()
        throw PusherError(.subscriptionFailed, "it was unsubscribed, or its client is gone", channelName: name)
    }

    // MARK: Client events

    /// - Parameter data: JSON text; `nil` if the application's value cannot be encoded.
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

    /// Reports a mistake in the application, in order with everything else.
    func report(_ error: PusherError) {
        perform { machine, _ in machine.report(error) }
    }
}
