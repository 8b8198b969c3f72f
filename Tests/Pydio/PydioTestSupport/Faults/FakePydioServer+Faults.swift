import Basics

/// What goes wrong with requests.
extension FakePydioServer {
    /// Lets something go wrong with requests of one action, or of all.
    ///
    /// - Parameters:
    ///   - action: As in `get_action`; nil is every one.
    ///   - times: How many requests; nil is all from then on.
    ///   - skipped: How many are left alone before.
    package func inject(_ fault: Fault, into action: String? = nil, times: Int? = 1, after skipped: Int = 0) {
        core.state.withLock { $0.faults.add(fault, to: action, times: times, after: skipped) }
    }

    package func clearFaults() { core.state.withLock { $0.faults.clear() } }

    /// Asked before everything; nil lets the server answer. It is called on the server's thread.
    package func setGate(_ gate: (@Sendable (FakePydioRequest) -> FakePydioAnswer?)?) { core.setGate(gate) }

    /// Gives all answers that ``Fault/hold`` holds back. What was asked is done only then.
    package func release() { core.release() }
    /// Answers that are held back.
    package var heldCount: Int { core.heldCount }
}
