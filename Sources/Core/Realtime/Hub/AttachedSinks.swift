import Basics

/// The sinks of a hub that is a source, and which of them are too slow.
struct AttachedSinks: Sendable {
    private struct WeakSink: Sendable {
        let id: ObjectIdentifier
        weak var sink: (any RealtimeEventSink)?
    }

    private var sinks: [WeakSink] = []
    private var holders: Set<ObjectIdentifier> = []

    var isHeld: Bool { !holders.isEmpty }

    var all: [any RealtimeEventSink] { sinks.compactMap(\.sink) }

    /// - Returns: The other sinks. Release them after the lock: this may be the last reference to one.
    mutating func add(_ sink: any RealtimeEventSink) -> [any RealtimeEventSink] {
        let others = remove(sink)
        sinks.append(WeakSink(id: ObjectIdentifier(sink), sink: sink))
        return others
    }

    /// Removes a sink, and sinks that no longer exist.
    ///
    /// - Returns: The living sinks. Release them after the lock: this may be the last reference to one.
    mutating func remove(_ sink: any RealtimeEventSink) -> [any RealtimeEventSink] {
        let living = all
        let ids = Set(living.map { ObjectIdentifier($0) }).subtracting([ObjectIdentifier(sink)])
        sinks.removeAll { !ids.contains($0.id) }
        holders.formIntersection(ids)
        return living
    }

    mutating func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) {
        let id = ObjectIdentifier(sink)
        // A sink that was detached meanwhile has no hold.
        if isHeld, sinks.contains(where: { $0.id == id }) {
            holders.insert(id)
        } else {
            holders.remove(id)
        }
    }
}

extension EventHub {
    package var isHeldBySinks: Bool { state.withLock { $0.sinks.isHeld } }
}

/// A hub whose events go to sinks, too.
extension HubOwner {
    package func attach(_ sink: any RealtimeEventSink) {
        _ = hub.state.withLock { $0.isClosed ? [] : $0.sinks.add(sink) }
        holdOrRelease()
    }

    package func detach(_ sink: any RealtimeEventSink) {
        _ = hub.state.withLock { $0.sinks.remove(sink) }
        holdOrRelease()
    }

    package func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) {
        hub.state.withLock { $0.sinks.hold(isHeld, for: sink) }
        holdOrRelease()
    }

    /// Applies the current state, so that of two changes from two threads the last one wins.
    private func holdOrRelease() {
        execute { [weak self] in
            guard let self else { return }
            hold(hub.isHeldBySinks)
        }
    }
}
