import Basics

/// The activity of a ``PydioClient``.
public enum PydioClientState: Int, Sendable, Hashable, CustomStringConvertible {
    /// No call has started yet.
    case idle = 0
    /// A call is running.
    case operation = 1
    /// A call is waiting for a login.
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

/// Stores a client's state, and reports its changes on the client's queue.
final class StateReport: Sendable {
    private struct Current {
        var state = PydioClientState.idle
        var calls = 0
        var handler: (@Sendable (PydioClientState) -> Void)?
        /// Changes not yet reported to the handler.
        var untold = SerialInbox<PydioClientState>()
    }

    private let current = Lock(Current())
    private let queue: DispatchQueue

    init(on queue: DispatchQueue) {
        self.queue = queue
    }

    var state: PydioClientState { current.withLock { $0.state } }

    var progress: Bool { current.withLock { $0.calls > 0 } }

    var handler: (@Sendable (PydioClientState) -> Void)? {
        get { current.withLock { $0.handler } }
        set {
            let old = current.withLock { current in
                let old = current.handler
                current.handler = newValue
                return old
            }
            _ = old  // released after the lock: that may run any code
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

    /// Reports changes one by one, even on a concurrent queue: new changes wait until this has finished.
    private func tell() {
        while case (let state?, let handler) = current.withLock({ ($0.untold.next(), $0.handler) }) { handler?(state) }
    }
}
