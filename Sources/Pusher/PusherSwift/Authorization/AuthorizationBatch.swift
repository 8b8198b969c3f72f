import PusherProtocol

/// Requests passed to the application together: as many as fit into a call, and few calls at a time.
struct AuthorizationBatch {
    /// The requests in order; those not in ``awaited`` are skipped.
    private var waiting: [AuthRequest] = []
    /// Thousands may be pending, and all are withdrawn when a connection ends, so each must cost little.
    private var awaited: Set<AuthRequestID> = []
    private var callsUnderWay = 0

    mutating func add(_ request: AuthRequest) {
        waiting.append(request)
        awaited.insert(request.id)
    }

    mutating func remove(_ request: AuthRequestID) {
        awaited.remove(request)
        if awaited.isEmpty { waiting = [] }
    }

    /// Returns the requests of the next call; `nil` if there are none, or enough calls are running.
    mutating func begin(maximumCalls: Int, maximumChannels: Int) -> [AuthRequest]? {
        guard !awaited.isEmpty, callsUnderWay < maximumCalls else { return nil }
        callsUnderWay += 1
        var (requests, passed) = ([AuthRequest](), 0)
        while passed < waiting.count, requests.count < maximumChannels {
            let request = waiting[passed]
            if awaited.remove(request.id) != nil { requests.append(request) }
            passed += 1
        }
        waiting.removeFirst(passed)
        return requests
    }

    mutating func end() {
        callsUnderWay -= 1
    }
}
