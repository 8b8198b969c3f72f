import Basics

/// Faults of requests.
extension FakePydioServer {
    /// Injects a fault into requests of one action, or of all.
    ///
    /// - Parameters:
    ///   - action: As in `get_action`; `nil` for every action.
    ///   - times: The number of requests; `nil` for all from then on.
    ///   - skipped: The number of requests to skip before.
    package func inject(_ fault: Fault, into action: String? = nil, times: Int? = 1, after skipped: Int = 0) {
        core.state.withLock { $0.faults.add(fault, to: action, times: times, after: skipped) }
    }

    package func clearFaults() { core.state.withLock { $0.faults.clear() } }

    /// Sets a handler that runs before everything else; `nil` passes the request on to the server. It is called on the
    /// server's thread.
    package func setGate(_ gate: (@Sendable (FakePydioRequest) -> FakePydioAnswer?)?) { core.setGate(gate) }

    /// Sends all answers that ``Fault/hold`` holds back. Their requests are carried out only then.
    package func release() { core.release() }
    /// The number of answers that are held back.
    package var heldCount: Int { core.heldCount }
}
