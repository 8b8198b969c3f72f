import Basics

/// The async variants: each is a binding or an observer that fills a buffer.
extension HubOwner {
    /// - Parameters:
    ///   - channel: The channel, or nil for all events of all channels.
    ///   - channelName: The name used in reports of a slow reader.
    package func events(
        on channel: EventRouter.ChannelID?, channelName: String?, named name: String?, policy: EventBufferingPolicy
    ) -> EventSequence<RealtimeEvent> {
        sequence(on: channel, channelName, name, policy) { event, buffer in buffer.add(event: event) }
    }

    /// Returns a sequence of events mapped by `transform`, which returns nil to skip an event.
    package func events<Element: Sendable>(
        on channel: EventRouter.ChannelID?, channelName: String?, named name: String?, policy: EventBufferingPolicy,
        _ transform: @escaping @Sendable (RealtimeEvent) -> Element?
    ) -> EventSequence<Element> {
        sequence(on: channel, channelName, name, policy) { event, buffer in
            transform(event).map { buffer.add($0, byteCount: event.byteCount) }
        }
    }

    private func sequence<Element: Sendable>(
        on channel: EventRouter.ChannelID?, _ channelName: String?, _ name: String?, _ policy: EventBufferingPolicy,
        _ add: @escaping @Sendable (RealtimeEvent, EventBuffer<Element>) -> EventBuffer<Element>.Added?
    ) -> EventSequence<Element> {
        let reader = EventReader(.sequence, eventName: name, channelName: channelName)
        let buffer = EventBuffer<Element>(policy: policy, wakeUps: hub.wakeUps) { [weak self] in
            self?.releaseReading(for: reader)
        }
        let fill: EventRouter.Handler = { [weak self] event in
            switch add(event, buffer) {
            case .full: self?.holdReading(for: reader)
            case .overflowed: self?.lost(.rest, channelName: channel.flatMap { _ in event.channelName })
            case .droppedOldest: self?.lost(.oldest, channelName: channelName)
            case .buffered, .finished, nil: break
            }
        }
        let binding = hub.state.withLock { state -> (EventRouter.BindingID, Observers<Notice>.ID)? in
            guard state.isLive(channel) else { return nil }
            let id =
                channel.map { state.router.bind(to: $0, event: name, isOfSequence: true, fill) }
                ?? state.router.bindGlobally(isOfSequence: true, fill)
            return (id, state.observers.add(channel, onEnd: buffer.finish))
        }
        guard let (bindingID, observerID) = binding else {
            buffer.finish()
            return EventSequence(buffer) {}
        }
        return EventSequence(buffer) { [weak hub] in
            _ = hub?.state.withLock { state in
                (
                    state.observers.remove(observerID),
                    channel.map { state.router.unbind(bindingID, from: $0) } ?? state.router.unbindGlobally(bindingID)
                )
            }
        }
    }

    /// Returns a sequence of notices mapped by `pick`, which ends with `channel` or the hub.
    ///
    /// - Parameters:
    ///   - first: An element that precedes the others.
    ///   - limit: The number of elements that may wait for a reader. Beyond it, the oldest are discarded.
    package func observe<Element: Sendable>(
        _ channel: EventRouter.ChannelID? = nil, first: Element? = nil, limit: Int = 1024,
        _ pick: @escaping @Sendable (Notice) -> Element?
    ) -> EventSequence<Element> {
        let buffer = EventBuffer<Element>(policy: .dropOldest(limit: limit))
        let id = hub.state.withLock { state -> Observers<Notice>.ID? in
            guard state.isLive(channel) else { return nil }
            if let first { _ = buffer.add(first) }
            let onNotice: @Sendable (Notice) -> Void = { [weak self] notice in
                if let element = pick(notice), buffer.add(element) == .droppedOldest {
                    self?.lost(.oldest, channelName: nil)
                }
            }
            return state.observers.add(channel, onNotice: onNotice, onEnd: buffer.finish)
        }
        guard let id else {
            buffer.finish()
            return EventSequence(buffer) {}
        }
        return EventSequence(buffer) { [weak hub] in _ = hub?.state.withLock { $0.observers.remove(id) } }
    }
}
