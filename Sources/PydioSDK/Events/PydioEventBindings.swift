import PydioProtocol
import Transport

/// What ``PydioWorkspaceEvents/bind(_:_:)`` returns, for ``PydioWorkspaceEvents/unbind(_:)``.
public final class PydioEventBinding: Sendable {
    let name: String?
    let handler: @Sendable (PydioEvent) -> Void

    init(_ name: String?, _ handler: @escaping @Sendable (PydioEvent) -> Void) {
        self.name = name
        self.handler = handler
    }
}

/// Calls bindings on the queue of the application, in order.
final class PydioEventBindings: Sendable {
    private struct State {
        var bindings: [PydioEventBinding] = []
        /// Events that are still to be told.
        var untold: [PydioEvent] = []
        var isFull = false
        /// Whether they are being told, or are about to be.
        var isTelling = false
    }

    /// Events that wait before the source is held.
    static let limit = 1024

    private let state = Lock(State())
    private let queue: DispatchQueue
    private let onFull: @Sendable (Bool) -> Void

    /// - Parameter onFull: Called when so much waits that no more should come, and when it is told.
    init(on queue: DispatchQueue, onFull: @escaping @Sendable (Bool) -> Void) {
        self.queue = queue
        self.onFull = onFull
    }

    func add(_ binding: PydioEventBinding) {
        state.withLock { $0.bindings.append(binding) }
    }

    func remove(_ binding: PydioEventBinding) {
        // Let go of after the lock: that may run any code.
        _ = state.withLock { state in
            defer { state.bindings.removeAll { $0 === binding } }
            return state.bindings
        }
    }

    func removeAll() {
        _ = state.withLock { state in
            defer {
                state.bindings = []
                state.untold = []
            }
            return state.bindings
        }
    }

    func tell(_ events: [PydioEvent]) {
        let (begins, isFull) = state.withLock { state -> (Bool, Bool) in
            guard !state.bindings.isEmpty else { return (false, false) }
            let begins = !state.isTelling
            state.isTelling = true
            state.untold += events
            guard !state.isFull, state.untold.count >= Self.limit else { return (begins, false) }
            state.isFull = true
            return (begins, true)
        }
        if isFull { onFull(true) }
        guard begins else { return }
        queue.async(flags: .barrier) { self.tellWaiting() }
    }

    /// One batch after the other, also where the queue is a concurrent one: what comes meanwhile waits for its end.
    private func tellWaiting() {
        let (events, wasFull) = state.withLock { state -> ([PydioEvent], Bool) in
            defer {
                state.untold = []
                state.isFull = false
            }
            return (state.untold, state.isFull)
        }
        for event in events {
            // A change of the bindings counts at once.
            let bindings = state.withLock { $0.bindings }
            for binding in bindings where binding.name == nil || binding.name == event.name {
                guard state.withLock({ state in state.bindings.contains { $0 === binding } }) else { continue }
                binding.handler(event)
            }
        }
        if wasFull { onFull(false) }
        let goesOn = state.withLock { state in
            state.isTelling = !state.untold.isEmpty
            return state.isTelling
        }
        if goesOn { queue.async(flags: .barrier) { self.tellWaiting() } }
    }
}
