import Basics

/// The sources of a hub, and the number of its readers that are too slow.
struct AttachedSources: Sendable {
    struct Attachment: Sendable {
        let source: any RealtimeEventSource
        /// The sink that takes the events for the hub.
        weak var sink: (any RealtimeEventSink)?
    }

    private(set) var all: [Attachment] = []
    private var holds = 0

    var isHeld: Bool { holds > 0 }

    /// - Returns: Whether to hold the source; nil if it is already attached.
    mutating func add(_ source: any RealtimeEventSource, to sink: any RealtimeEventSink) -> Bool? {
        guard !all.contains(where: { $0.source === source }) else { return nil }
        all.append(Attachment(source: source, sink: sink))
        return isHeld
    }

    mutating func remove(_ source: any RealtimeEventSource) { all.removeAll { $0.source === source } }

    /// - Returns: Whether this is the first hold.
    mutating func hold() -> Bool {
        holds += 1
        return holds == 1
    }

    /// - Returns: Whether this was the last hold.
    mutating func release() -> Bool {
        holds -= 1
        return holds == 0
    }
}

extension EventHub {
    package var sourcePrefixes: [String] { state.withLock { $0.sources.all }.map(\.source.channelPrefix) }

    /// Returns the events of a source in the form that bindings take.
    package func batch(of events: SourceEvents) -> EventBatch {
        state.withLock { state in events.batch { state.channels[$0] } }
    }

    /// Returns the channel of a source if it has bindings.
    package func boundChannel(named name: String) -> EventRouter.ChannelID? { state.withLock { $0.channels[name] } }
}

extension HubOwner {
    /// Receives new events from `source`.
    package func attach(_ source: any RealtimeEventSource) where Self: RealtimeEventSink {
        let isHeld = hub.state.withLock { $0.isClosed ? nil : $0.sources.add(source, to: self) }
        guard let isHeld else { return }
        source.attach(self)
        if isHeld { holdOrReleaseSources() }
    }

    package func detach(_ source: any RealtimeEventSource) where Self: RealtimeEventSink {
        hub.state.withLock { $0.sources.remove(source) }
        source.detach(self)
    }

    /// Detaches all sources before the hub closes.
    package func detachAll() where Self: RealtimeEventSink {
        for attachment in hub.state.withLock({ $0.sources.all }) { detach(attachment.source) }
    }

    func holdSources() {
        if hub.state.withLock({ $0.sources.hold() }) { holdOrReleaseSources() }
    }

    func releaseSources() {
        if hub.state.withLock({ $0.sources.release() }) { holdOrReleaseSources() }
    }

    /// Applies the current state, so that of two changes from two threads the last one wins.
    private func holdOrReleaseSources() {
        execute { [weak self] in
            guard let (all, isHeld) = self?.hub.state.withLock({ ($0.sources.all, $0.sources.isHeld) }) else { return }
            for attachment in all {
                if let sink = attachment.sink { attachment.source.hold(isHeld, for: sink) }
            }
        }
    }
}
