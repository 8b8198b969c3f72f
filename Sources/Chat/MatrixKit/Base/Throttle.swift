/// Limits how often work runs: the first call runs at once, and the last call always runs.
@MainActor
final class Throttle {
    private var isResting = false
    private var isWanted = false

    /// Runs the work now, or when the interval since the last run is over.
    func run(every interval: Duration, _ work: @escaping @MainActor () -> Void) {
        guard !isResting else {
            isWanted = true
            return
        }
        (isResting, isWanted) = (true, false)
        work()
        Task { [weak self] in
            try? await Task.sleep(for: interval)
            guard let self else { return }
            self.isResting = false
            if self.isWanted { self.run(every: interval, work) }
        }
    }

    /// Cancels the pending run, because the work was done by other means.
    func wasDone() { isWanted = false }
}
