import Basics

/// Recorded requests.
extension FakePydioServer {
    /// All requests so far without their files, in the order in which they were completed.
    package var requests: [FakePydioRequest] { core.state.withLock { $0.requests } }

    /// The requests of one action.
    package func requests(_ action: String) -> [FakePydioRequest] { requests.filter { $0.action == action } }

    /// The number of requests of an action.
    package func count(_ action: String) -> Int { core.state.withLock { $0.requestCounts[action] ?? 0 } }

    /// Forgets all requests and restarts the counts.
    package func forgetRequests() {
        core.state.withLock { state in
            state.requests = []
            state.requestCounts = [:]
        }
    }

    /// The number of open connections.
    package var connectionCount: Int { core.connections.count }
}
