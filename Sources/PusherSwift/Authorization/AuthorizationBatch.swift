import PusherProtocol

/// Requests that go to the application together: as many as fit into a call, and few calls at a time.
struct AuthorizationBatch {
    private var waiting: [AuthRequest] = []
    private var callsUnderWay = 0

    mutating func add(_ request: AuthRequest) {
        waiting.append(request)
    }

    mutating func remove(_ request: AuthRequestID) {
        waiting.removeAll { $0.id == request }
    }

    /// The requests of the next call; nil if there are none, or enough calls are under way.
    mutating func begin(maximumCalls: Int, maximumChannels: Int) -> [AuthRequest]? {
        guard !waiting.isEmpty, callsUnderWay < maximumCalls else { return nil }
        callsUnderWay += 1
        defer { waiting.removeFirst(min(maximumChannels, waiting.count)) }
        return Array(waiting.prefix(maximumChannels))
    }

    mutating func end() {
        callsUnderWay -= 1
    }
}
