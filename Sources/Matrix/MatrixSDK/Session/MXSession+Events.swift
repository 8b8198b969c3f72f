import Basics
public import Realtime

/// The result of ``MXSession/bind(_:in:_:)``, for ``MXSession/unbind(_:)``.
public struct MXEventBinding: Hashable, Sendable {
    /// `nil` if no more events will arrive.
    let id: EventRouter.BindingID?
    let channel: EventRouter.ChannelID?
}

/// The session's events for bindings and loops, without a `Pusher` client. ``MatrixEventName`` lists the names that are
/// not Matrix event types.
extension MXSession {
    /// Calls back for each event as it arrives, in order, on ``MXSessionOptions/callbackQueue``. Events of a first sync
    /// are history; read them from the rooms. While many events wait for a callback, the session requests no more.
    ///
    ///     session.bind("m.room.message", in: roomId) { event in print(event.json["content"]?["body"]?.string ?? "") }
    ///
    /// - Parameters:
    ///   - name: An event type, such as `m.room.message`; `nil` for every event.
    ///   - roomId: A room; `nil` for every room and the account.
    @discardableResult
    public func bind(
        _ name: String? = nil, in roomId: String? = nil, _ callback: @escaping @Sendable (RealtimeEvent) -> Void
    ) -> MXEventBinding {
        let channel = roomId.map { core.hub.channel(named: "matrix:" + $0) }
        let id =
            channel.map { core.hub.bind(to: $0, event: name, callback) }
            ?? core.hub.bind(to: nil) { event in
                if name == nil || event.eventName == name { callback(event) }
            }
        return MXEventBinding(id: id, channel: channel)
    }

    /// Calls back with every event and every other notice, in order.
    package func observe(
        events: @escaping @Sendable (RealtimeEvent) -> Void, others: @escaping @Sendable (SourceNotice) -> Void
    ) {
        core.observe(events: events, others: others)
    }

    /// Starts the first sync at an earlier point of the stream than the store's. Everything since that point is
    /// reported, whether it is stored or not. Call it before starting.
    ///
    /// - Parameters:
    ///   - token: The point most recently reported by a notice of ``observe(events:others:)``.
    ///   - date: The time of that report; gaps are dated from it.
    package func catchUp(since token: String, from date: Date) {
        core.state.withLock { ($0.catchUpToken, $0.lastSync) = (token, date) }
    }

    /// Removes a binding, even from within its callback.
    public func unbind(_ binding: MXEventBinding) {
        if let id = binding.id { core.hub.unbind(id, from: binding.channel) }
    }

    /// Returns the same events as they arrive, from this call on.
    ///
    /// - Parameters:
    ///   - name: An event type, such as `m.room.message`; `nil` for every event.
    ///   - roomId: A room; `nil` for every room and the account.
    ///   - buffering: With `suspend`, the session requests no more while that many events wait to be read.
    public func events(
        _ name: String? = nil, in roomId: String? = nil, buffering: EventBufferingPolicy = .default
    ) -> EventSequence<RealtimeEvent> {
        let channelName = roomId.map { "matrix:" + $0 }
        let channel = channelName.map { core.hub.channel(named: $0) }
        guard channel == nil, let name else {
            return core.events(on: channel, channelName: channelName, named: name, policy: buffering)
        }
        return core.events(on: nil, channelName: nil, named: name, policy: buffering) { event in
            event.eventName == name ? event.detached() : nil
        }
    }

    /// The state changes from this call on. Keeps the newest 1,024 for a slow reader.
    public var states: EventSequence<MXSessionState> {
        core.observe { notice in
            if case .stateChanged(let state) = notice { state.underlying as? MXSessionState } else { nil }
        }
    }

    /// The failures from this call on. Keeps the newest 1,024 for a slow reader.
    public var errors: EventSequence<SourceFailure> { core.failures }

    /// The periods in which room events were missed, from this call on. Keeps the newest 1,024 for a slow reader.
    public var gaps: EventSequence<SourceGap> { core.gaps }
}
