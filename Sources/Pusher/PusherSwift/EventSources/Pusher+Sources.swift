public import Realtime

/// Other sources of events.
extension Pusher {
    /// Delivers the events of `source` to this client's bindings and sequences as well, from now on and until it is
    /// detached or this client goes away. No Pusher connection is needed for that.
    ///
    ///     let session = MXSession(credentials: credentials)
    ///     pusher.attach(session)
    ///     pusher.subscribe("matrix:!room:example.org").bind(eventName: "m.room.message") { event in … }
    ///
    /// Global bindings get every event of it; ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``
    /// with the name of one of its channels gives that channel to bind to, before or after attaching. What goes wrong at
    /// the source comes as an error of kind `sourceFailed`, and what was missed as a gap. Attaching twice changes nothing.
    public func attach(_ source: any RealtimeEventSource) { core.attach(source) }

    /// Takes no more events of `source`. Its channels keep their bindings for the next time.
    public func detach(_ source: any RealtimeEventSource) { core.detach(source) }

    /// The states that attached sources come to, from this call on. Keeps the newest 1,024 for a slow reader.
    public var sourceStates: EventSequence<SourceState> {
        core.observe { if case .sourceStateChanged(let state) = $0 { state } else { nil } }
    }

    /// The channel of this name: one that is subscribed, or any channel of another source (a name such as
    /// `matrix:!room:example.org`). Nil for a channel of the Pusher protocol's that is not subscribed.
    public func channel(_ name: String) -> PusherChannel? {
        core.isSourceChannel(name) ? core.sourceChannel(named: name) : core.channel(named: name)
    }
}
