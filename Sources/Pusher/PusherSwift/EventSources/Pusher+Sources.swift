public import Realtime

/// Other sources of events.
extension Pusher {
    /// Also delivers the events of `source` to this client's bindings and sequences, until the source is detached or
    /// this client is released. This needs no Pusher connection.
    ///
    ///     let session = MXSession(credentials: credentials)
    ///     pusher.attach(session)
    ///     pusher.subscribe("matrix:!room:example.org").bind(eventName: "m.room.message") { event in … }
    ///
    /// Global bindings receive all its events;
    /// ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` with the name of one of its
    /// channels returns that channel for binding, before or after attaching. Errors of the source are reported with
    /// kind `sourceFailed`, and missed events as a gap. Attaching a source twice has no effect.
    public func attach(_ source: any RealtimeEventSource) { core.attach(source) }

    /// Stops receiving events of `source`. Its channels keep their bindings for when you attach it again.
    public func detach(_ source: any RealtimeEventSource) { core.detach(source) }

    /// The states of attached sources, from this call on. Buffers the newest 1,024 for a slow reader.
    public var sourceStates: EventSequence<SourceState> {
        core.observe { if case .sourceStateChanged(let state) = $0 { state } else { nil } }
    }

    /// Returns the channel of this name: a subscribed channel, or any channel of another source (a name such as
    /// `matrix:!room:example.org`). `nil` for a Pusher channel that is not subscribed.
    public func channel(_ name: String) -> PusherChannel? {
        core.isSourceChannel(name) ? core.sourceChannel(named: name) : core.channel(named: name)
    }
}
