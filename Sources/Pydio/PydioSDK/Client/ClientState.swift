import Basics

/// What a ``PydioClient`` is doing.
public enum PydioClientState: Int, Sendable, Hashable, CustomStringConvertible {
    /// Nothing yet.
    case idle = 0
    /// A call is under way.
    case operation = 1
    /// A login is under way that a call waits for.
    case authorization = 2
    /// A call has ended.
    case finished = 3

    /// The state's name.
    public var description: String {
        switch self {
        case .idle: "idle"
        case .operation: "operation"
        case .authorization: "authorization"
        case .finished: "finished"
        }
    }
}

/// Keeps a client's state, and tells of its changes on the client's queue.
final class StateReport: Sendable {
    private struct Current {
        var state = PydioClientState.idle
        var calls = 0
        var handler: (@Sendable (PydioClientState) -> Void)?
        /// Changes of which the handler is still to hear.
        var untold = SerialInbox<PydioClientState>()
    }

    private let current = Lock(Current())
    private let queue: DispatchQueue

    init(on queue: DispatchQueue) {
        self.queue = queue
    }

    var state: PydioClientState { current.withLock { $0.state } }

    /// Whether calls are under way.
    var progress: Bool { current.withLock { $0.calls > 0 } }

    var handler: (@Sendable (PydioClientState) -> Void)? {
        get { current.withLock { $0.handler } }
        set {
            let old = current.withLock { current in
                let old = current.handler
                current.handler = newValue
                return old
            }
            _ = old  // let go of after the lock: that may run any code
        }
    }

    /// Counts a call that has no state yet.
    func enter() { current.withLock { $0.calls += 1 } }

    /// Counts a call that ended before it had a state.
    func leave() { current.withLock { $0.calls -= 1 } }

    func begin(_ state: PydioClientState) {
        change(to: state) { $0.calls += 1 }
    }

    func set(_ state: PydioClientState) {
        change(to: state) { _ in }
    }

    func end() {
        change(to: .finished) { $0.calls -= 1 }
    }

    private func change(to state: PydioClientState, _ body: (inout Current) -> Void) {
        let begins = current.withLock { current in
            body(&current)
            current.state = state
            guard current.handler != nil else { return false }
            current.untold.add(state)
            return current.untold.begin()
        }
        if begins { queue.async(flags: .barrier) { self.tell() } }
    }

    /// One after the other, also where the queue is a concurrent one: what comes meanwhile waits for the end of this.
    private func tell() {
        while case (let state?, let handler) = current.withLock({ ($0.untold.next(), $0.handler) }) { handler?(state) }
    }
}
