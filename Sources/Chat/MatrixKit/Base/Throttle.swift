/// Does something at most once in a while: the first time at once, and the last time always.
@MainActor
final class Throttle {
    private var isResting = false
    private var isWanted = false

    /// Does it now, or when the interval since the last time is over.
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

    /// It was done otherwise: nobody waits for it any more.
    func wasDone() { isWanted = false }
}
