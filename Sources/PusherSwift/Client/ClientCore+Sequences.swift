import PusherProtocol
import Realtime
import Transport

/// The async forms: each is a binding or an observer that fills a buffer.
extension ClientCore {
    /// - Parameter channel: Nil for all events of all channels.
    func events(
        on channel: EventRouter.ChannelID?, named name: String?, policy: EventBufferingPolicy
    ) -> EventSequence<RealtimeEvent> {
        sequence(on: channel, named: name, policy: policy) { event, buffer in buffer.add(event: event) }
    }

    /// What `transform` makes of the events; nil leaves one out.
    func sequence<Element: Sendable>(
        on channel: EventRouter.ChannelID?, named name: String?, policy: EventBufferingPolicy,
        _ transform: @escaping @Sendable (RealtimeEvent) -> Element?
    ) -> EventSequence<Element> {
        sequence(on: channel, named: name, policy: policy) { event, buffer in
            transform(event).map { buffer.add($0, byteCount: event.byteCount) }
        }
    }

    private func sequence<Element: Sendable>(
        on channel: EventRouter.ChannelID?, named name: String?, policy: EventBufferingPolicy,
        _ add: @escaping @Sendable (RealtimeEvent, EventBuffer<Element>) -> EventBuffer<Element>.Added?
    ) -> EventSequence<Element> {
        let channelName = channel.flatMap { channel in bindings.withLock { $0.channelObjects[channel]?.name } }
        let reader = EventReader(.sequence, eventName: name, channelName: channelName)
        let buffer = EventBuffer<Element>(policy: policy, wakeUps: wakeUps) { [weak self] in
            self?.releaseReading(for: reader)
        }
        let fill: EventRouter.Handler = { [weak self] event in
            switch add(event, buffer) {
            case .full: self?.holdReading(for: reader)
            case .overflowed:
                self?.options.metrics?.dropped()
                self?.reportOverflow(channelName: channel.flatMap { _ in event.channelName })
            case .droppedOldest: self?.options.metrics?.dropped()
            case .buffered, .finished, nil: break
            }
        }
        let binding = bindings.withLock { bindings -> (EventRouter.BindingID, Bindings.ObserverID)? in
            guard bindings.isLive(channel) else { return nil }
            let id =
                channel.map { bindings.router.bind(to: $0, event: name, isOfSequence: true, fill) }
                ?? bindings.router.bindGlobally(isOfSequence: true, fill)
            return (id, bindings.observe(channel, onEnd: buffer.finish))
        }
        guard let (bindingID, observerID) = binding else {
            buffer.finish()
            return EventSequence(buffer) {}
        }
        return EventSequence(buffer) { [weak self] in
            _ = self?.bindings.withLock { bindings in
                (
                    bindings.removeObserver(observerID),
                    channel.map { bindings.router.unbind(bindingID, from: $0) }
                        ?? bindings.router.unbindGlobally(bindingID)
                )
            }
        }
    }

    private func reportOverflow(channelName: String?) {
        report(
            PusherError(
                .bufferOverflow,
                "a sequence was read too slowly for its buffer (EventBufferingPolicy.fail) and has ended",
                channelName: channelName))
    }

    /// What `pick` makes of the notices that come, until `channel` or the client ends.
    func observe<Element: Sendable>(
        channel: EventRouter.ChannelID?, first: (Bindings) -> Element? = { _ in nil },
        limit: Int = 1024, _ pick: @escaping @Sendable (ClientMachine.Notice) -> Element?
    ) -> EventSequence<Element> {
        let buffer = EventBuffer<Element>(policy: .dropOldest(limit: limit))
        let metrics = options.metrics
        let id = bindings.withLock { bindings -> Bindings.ObserverID? in
            guard bindings.isLive(channel) else { return nil }
            if let first = first(bindings) { _ = buffer.add(first) }
            let onNotice: @Sendable (ClientMachine.Notice) -> Void = { notice in
                if let element = pick(notice), buffer.add(element) == .droppedOldest { metrics?.dropped() }
            }
            return bindings.observe(channel, onNotice: onNotice, onEnd: buffer.finish)
        }
        guard let id else {
            buffer.finish()
            return EventSequence(buffer) {}
        }
        return EventSequence(buffer) { [weak self] in _ = self?.bindings.withLock { $0.removeObserver(id) } }
    }

    func states() -> EventSequence<ConnectionState> {
        observe(channel: nil, first: \.announcedState) { notice in
            if case .stateChanged(_, let new) = notice { new } else { nil }
        }
    }

    func waitForSubscription(of channel: EventRouter.ChannelID, name: String) async throws {
        do throws(InvalidChannelName) {
            _ = try ChannelName(name)
        } catch {
            throw PusherError(.invalidArgument, error.description)
        }
        let outcomes = observe(channel: channel) { notice -> Result<Void, PusherError>? in
            if case .subscribed(channel, _) = notice { return .success(()) }
            if case .subscriptionFailed(channel, let error, _, _) = notice { return .failure(error) }
            return nil
        }
        let (isSubscribed, failure) = read { ($0.isSubscribed(channel), $0.failure(of: channel)) }
        if isSubscribed { return }
        if let failure { throw failure }
        for await outcome in outcomes {
            // An outcome may be older than this call: what counts is how things stand.
            if case .failure = outcome, read({ $0.isSubscribing(channel) }) { continue }
            return try outcome.get()
        }
        try Task.checkCancellation()
        throw PusherError(.subscriptionFailed, "it was unsubscribed, or its client is gone", channelName: name)
    }
}
