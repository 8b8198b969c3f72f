import Basics
public import Realtime

/// What ``MXSession/bind(_:in:_:)`` returns, for ``MXSession/unbind(_:)``.
public struct MXEventBinding: Hashable, Sendable {
    /// Nil if nothing more comes.
    let id: EventRouter.BindingID?
    let channel: EventRouter.ChannelID?
}

/// The session's events for bindings and loops, without a `Pusher` client. ``MatrixEventName`` lists the names that are no
/// types of Matrix events.
extension MXSession {
    /// Calls back for each event as it comes, in order, on ``MXSessionOptions/callbackQueue``. Events of a first sync are
    /// history, and are read from the rooms. While many events wait for a callback, no more are asked for.
    ///
    ///     session.bind("m.room.message", in: roomId) { event in print(event.json["content"]?["body"]?.string ?? "") }
    ///
    /// - Parameters:
    ///   - name: A type of events, such as `m.room.message`; nil is every event.
    ///   - roomId: Nil: of every room, and of the account.
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

    /// Calls back with every event, and with all else that is told, in order.
    package func observe(
        events: @escaping @Sendable (RealtimeEvent) -> Void, others: @escaping @Sendable (SourceNotice) -> Void
    ) {
        core.observe(events: events, others: others)
    }

    /// Begins the first sync at an earlier point of the stream than the store does: all that has come since is told, be it
    /// stored already or not. To be called before the start.
    ///
    /// - Parameters:
    ///   - token: What was reached, by a notice of ``observe(events:others:)``, when it was told last.
    ///   - date: When that was: gaps are dated from it.
    package func catchUp(since token: String, from date: Date) {
        core.state.withLock { ($0.catchUpToken, $0.lastSync) = (token, date) }
    }

    /// Ends the calls of a binding, also from within one.
    public func unbind(_ binding: MXEventBinding) {
        if let id = binding.id { core.hub.unbind(id, from: binding.channel) }
    }

    /// The same events as they come, from this call on.
    ///
    /// - Parameters:
    ///   - name: A type of events, such as `m.room.message`; nil is every event.
    ///   - roomId: Nil: of every room, and of the account.
    ///   - buffering: With `suspend`, no more is asked for while so many events wait to be read.
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

    /// Each new state, from this call on. Keeps the newest 1,024 for a slow reader.
    public var states: EventSequence<MXSessionState> {
        core.observe { notice in
            if case .stateChanged(let state) = notice { state.underlying as? MXSessionState } else { nil }
        }
    }

    /// What goes wrong, from this call on. Keeps the newest 1,024 for a slow reader.
    public var errors: EventSequence<SourceFailure> { core.failures }

    /// Times in which events of rooms were missed, from this call on. Keeps the newest 1,024 for a slow reader.
    public var gaps: EventSequence<SourceGap> { core.gaps }
}
