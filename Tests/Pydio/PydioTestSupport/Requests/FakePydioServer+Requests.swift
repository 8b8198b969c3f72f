import Basics

/// What the server was asked.
extension FakePydioServer {
    /// All requests so far, in the order in which they were complete; without the files in them.
    package var requests: [FakePydioRequest] { core.state.withLock { $0.requests } }

    /// Those of one action.
    package func requests(_ action: String) -> [FakePydioRequest] { requests.filter { $0.action == action } }

    /// How often an action was asked for.
    package func count(_ action: String) -> Int { core.state.withLock { $0.requestCounts[action] ?? 0 } }

    /// Starts counting anew.
    package func forgetRequests() {
        core.state.withLock { state in
            state.requests = []
            state.requestCounts = [:]
        }
    }

    /// Open connections.
    package var connectionCount: Int { core.connections.count }
}
