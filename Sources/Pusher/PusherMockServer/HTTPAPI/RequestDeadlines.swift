import Basics

/// By when each connection has to have sent a request.
struct RequestDeadlines {
    private let timeout: Duration
    private var deadlines: [ObjectIdentifier: MonotonicInstant] = [:]

    init(timeout: Duration) {
        self.timeout = timeout
    }

    var isEmpty: Bool { deadlines.isEmpty }

    mutating func start(for connection: ObjectIdentifier, now: MonotonicInstant) {
        deadlines[connection] = now + timeout
    }

    mutating func met(by connection: ObjectIdentifier) {
        deadlines[connection] = nil
    }

    /// The connections that are late; they are forgotten.
    mutating func takePassed(now: MonotonicInstant) -> [ObjectIdentifier] {
        let passed = deadlines.filter { $0.value <= now }.map(\.key)
        for connection in passed { deadlines[connection] = nil }
        return passed
    }
}
