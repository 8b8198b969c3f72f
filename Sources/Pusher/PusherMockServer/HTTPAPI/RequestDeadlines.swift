import Basics

/// The deadlines by which each connection must send a request.
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

    /// Removes and returns the late connections.
    mutating func takePassed(now: MonotonicInstant) -> [ObjectIdentifier] {
        let passed = deadlines.filter { $0.value <= now }.map(\.key)
        for connection in passed { deadlines[connection] = nil }
        return passed
    }
}
