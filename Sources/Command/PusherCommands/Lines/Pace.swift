import Basics

/// Limits a rate without making up for missed time.
struct Pace {
    private let interval: Duration
    private var due = MonotonicInstant.now

    /// - Parameter rate: The rate per second; `nil` is as fast as possible.
    init(rate: Double?) {
        interval = rate.map { .seconds(1 / $0) } ?? .zero
    }

    /// Waits until the next item is due.
    func wait() async throws { try await MonotonicInstant.wait(until: due) }

    mutating func passed(_ count: Int) { due = max(due, .now) + interval * count }
}
