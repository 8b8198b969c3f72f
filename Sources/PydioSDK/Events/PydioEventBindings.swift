import PydioProtocol
import Realtime
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
        /// For whom the source is held.
        var holder: EventReader?
        /// What is being told.
        var running: PydioEvent?
        /// Whether they are being told, or are about to be.
        var isTelling = false
    }

    /// Events that wait before the source is held.
    static let limit = 1024

    private let state = Lock(State())
    private let queue: DispatchQueue
    private let onHold: @Sendable (EventReader, _ isHeld: Bool) -> Void

    /// - Parameter onHold: Called when so much waits that no more should come, and when it is told.
    init(on queue: DispatchQueue, onHold: @escaping @Sendable (EventReader, _ isHeld: Bool) -> Void) {
        self.queue = queue
        self.onHold = onHold
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
        let (begins, holder) = state.withLock { state -> (Bool, EventReader?) in
            guard !state.bindings.isEmpty else { return (false, nil) }
            let begins = !state.isTelling
            state.isTelling = true
            state.untold += events
            guard state.holder == nil, state.untold.count >= Self.limit else { return (begins, nil) }
            state.holder = EventReader(.callback, eventName: state.running?.name, channelName: nil)
            return (begins, state.holder)
        }
        if let holder { onHold(holder, true) }
        guard begins else { return }
        queue.async(flags: .barrier) { self.tellWaiting() }
    }

    /// One batch after the other, also where the queue is a concurrent one: what comes meanwhile waits for its end.
    private func tellWaiting() {
        let (events, holder) = state.withLock { state -> ([PydioEvent], EventReader?) in
            defer { (state.untold, state.holder) = ([], nil) }
            return (state.untold, state.holder)
        }
        for event in events {
            // A change of the bindings counts at once.
            let bindings = state.withLock { state in
                state.running = event
                return state.bindings
            }
            for binding in bindings where binding.name == nil || binding.name == event.name {
                guard state.withLock({ state in state.bindings.contains { $0 === binding } }) else { continue }
                binding.handler(event)
            }
        }
        if let holder { onHold(holder, false) }
        let goesOn = state.withLock { state in
            state.running = nil
            state.isTelling = !state.untold.isEmpty
            return state.isTelling
        }
        if goesOn { queue.async(flags: .barrier) { self.tellWaiting() } }
    }
}
