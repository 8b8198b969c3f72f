import Basics

/// A notice of a source of events, for applications that bind to the source itself and for the hubs it is attached to.
package enum SourceNotice: HubNotice {
    case events(EventBatch)
    case stateChanged(SourceState)
    case failed(SourceFailure)
    case gap(SourceGap)
    /// Everything before this point of the source's stream has been reported.
    case reached(String)

    package var events: EventBatch? {
        if case .events(let batch) = self { batch } else { nil }
    }

    /// States, failures and gaps concern the source as a whole.
    package var channel: EventRouter.ChannelID? { nil }
}

/// A source of events. It publishes from one thread at a time, so that all receivers get the same order.
extension HubOwner where Notice == SourceNotice {
    package func tell(_ notice: Notice) {}

    package func publish(_ events: SourceEvents) {
        guard !events.isEmpty else { return }
        for sink in hub.sinks { sink.receive(events) }
        if hub.hasBindings { putInLine([.events(hub.batch(of: events))]) }
    }

    package func publish(_ state: SourceState) {
        for sink in hub.sinks { sink.receive(state) }
        if hub.hasObservers { putInLine([.stateChanged(state)]) }
    }

    package func publish(_ failure: SourceFailure) {
        for sink in hub.sinks { sink.receive(failure) }
        if hub.hasObservers { putInLine([.failed(failure)]) }
    }

    package func publish(_ gap: SourceGap) {
        for sink in hub.sinks { sink.receive(gap) }
        if hub.hasObservers { putInLine([.gap(gap)]) }
    }

    /// Notifies observers of everything.
    package func publish(reached position: String) {
        for sink in hub.sinks { sink.receive(reached: position) }
        if hub.hasObservers { putInLine([.reached(position)]) }
    }

    /// Whether any receiver for events exists.
    package var isHeard: Bool { hub.hasBindings || !hub.sinks.isEmpty }

    /// Calls back with every event and every other notice, in order, until the hub closes.
    package func observe(
        events: @escaping @Sendable (RealtimeEvent) -> Void, others: @escaping @Sendable (SourceNotice) -> Void
    ) {
        hub.state.withLock { state in
            guard !state.isClosed else { return }
            _ = state.router.bindGlobally(events)
            _ = state.observers.add(nil, onNotice: others, onEnd: {})
        }
    }

    /// The states from this call on. Keeps the latest 1,024 unread ones.
    package var stateChanges: EventSequence<SourceState> {
        observe { if case .stateChanged(let state) = $0 { state } else { nil } }
    }

    /// Like ``stateChanges``, but for failures.
    package var failures: EventSequence<SourceFailure> {
        observe { if case .failed(let failure) = $0 { failure } else { nil } }
    }

    /// Like ``stateChanges``, but for periods in which events may be missing.
    package var gaps: EventSequence<SourceGap> {
        observe { if case .gap(let gap) = $0 { gap } else { nil } }
    }
}

extension EventHub {
    fileprivate var sinks: [any RealtimeEventSink] { state.withLock { $0.sinks.all } }

    fileprivate var hasObservers: Bool { state.withLock { !$0.observers.isEmpty } }
}
