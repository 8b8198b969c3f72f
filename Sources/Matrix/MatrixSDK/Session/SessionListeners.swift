import MatrixProtocol

/// A listener, as returned by ``MXSession/listenToEvents(_:_:)`` and ``MXEventTimeline/listenToEvents(_:_:)`` for
/// removing it.
public final class MXEventListener: Sendable {
    init() {}
}

/// Listeners in order. Changes made while they are called take effect at once.
struct EventListeners: Sendable {
    /// `@unchecked Sendable`: the closure is only called on the session's completion queue, for which it was made.
    struct Handler: @unchecked Sendable {
        let call: (MXEvent, MXTimelineDirection, MXRoomState?) -> Void
    }

    private struct Entry: Sendable {
        let listener: MXEventListener
        let types: Set<MXEventType>?
        let handler: Handler
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    mutating func add(
        _ types: [MXEventType]?, _ call: @escaping (MXEvent, MXTimelineDirection, MXRoomState?) -> Void
    ) -> MXEventListener {
        let listener = MXEventListener()
        entries.append(Entry(listener: listener, types: types.map(Set.init), handler: Handler(call: call)))
        return listener
    }

    /// - Returns: The previous listeners, to be released without holding a lock: their closures may own anything.
    mutating func remove(_ listener: MXEventListener) -> EventListeners {
        defer { entries.removeAll { $0.listener === listener } }
        return self
    }

    /// - Returns: See ``remove(_:)``.
    mutating func removeAll() -> EventListeners {
        defer { entries = [] }
        return self
    }

    func has(_ listener: MXEventListener) -> Bool { entries.contains { $0.listener === listener } }

    /// Returns the listeners for events of this type.
    func interested(in type: MXEventType) -> [(listener: MXEventListener, handler: Handler)] {
        entries.filter { $0.types?.contains(type) ?? true }.map { ($0.listener, $0.handler) }
    }
}
