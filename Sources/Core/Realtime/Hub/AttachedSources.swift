import Basics

/// The sources of a hub, and how many of its readers are too slow.
struct AttachedSources: Sendable {
    struct Attachment: Sendable {
        let source: any RealtimeEventSource
        /// What takes the events for the hub.
        weak var sink: (any RealtimeEventSink)?
    }

    private(set) var all: [Attachment] = []
    private var holds = 0

    var isHeld: Bool { holds > 0 }

    /// - Returns: Whether it is to be held; nil if it was attached already.
    mutating func add(_ source: any RealtimeEventSource, to sink: any RealtimeEventSink) -> Bool? {
        guard !all.contains(where: { $0.source === source }) else { return nil }
        all.append(Attachment(source: source, sink: sink))
        return isHeld
    }

    mutating func remove(_ source: any RealtimeEventSource) { all.removeAll { $0.source === source } }

    /// - Returns: Whether that changes anything.
    mutating func hold() -> Bool {
        holds += 1
        return holds == 1
    }

    /// - Returns: Whether that changes anything.
    mutating func release() -> Bool {
        holds -= 1
        return holds == 0
    }
}

extension EventHub {
    /// What the names of the channels of attached sources begin with.
    package var sourcePrefixes: [String] { state.withLock { $0.sources.all }.map(\.source.channelPrefix) }

    /// Events of sources, for the bindings.
    package func batch(of events: SourceEvents) -> EventBatch {
        state.withLock { state in events.batch { state.channels[$0] } }
    }

    /// The channel of a source, if it is bound to.
    package func boundChannel(named name: String) -> EventRouter.ChannelID? { state.withLock { $0.channels[name] } }
}

/// Events of other hubs.
extension HubOwner {
    /// Takes what comes from `source` from now on.
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

    /// Before the hub closes.
    package func detachAll() where Self: RealtimeEventSink {
        for attachment in hub.state.withLock({ $0.sources.all }) { detach(attachment.source) }
    }

    func holdSources() {
        if hub.state.withLock({ $0.sources.hold() }) { holdOrReleaseSources() }
    }

    func releaseSources() {
        if hub.state.withLock({ $0.sources.release() }) { holdOrReleaseSources() }
    }

    /// By what holds then: of two changes from two threads the last has the last word.
    private func holdOrReleaseSources() {
        execute { [weak self] in
            guard let (all, isHeld) = self?.hub.state.withLock({ ($0.sources.all, $0.sources.isHeld) }) else { return }
            for attachment in all {
                if let sink = attachment.sink { attachment.source.hold(isHeld, for: sink) }
            }
        }
    }
}
