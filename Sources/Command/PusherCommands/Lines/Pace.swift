import Basics

/// Lets things pass at no more than a rate; what could have passed earlier is not made up for.
struct Pace {
    private let interval: Duration
    private var due = MonotonicInstant.now

    /// - Parameter rate: In a second; nil is as fast as possible.
    init(rate: Double?) {
        interval = rate.map { .seconds(1 / $0) } ?? .zero
    }

    /// Returns when the next may pass.
    func wait() async throws { try await MonotonicInstant.wait(until: due) }

    mutating func passed(_ count: Int) { due = max(due, .now) + interval * count }
}
