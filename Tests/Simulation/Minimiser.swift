import PusherProtocol

/// Leaves out of a failing schedule whatever it fails without.
enum Minimiser {
    static func minimise(_ schedule: Schedule) -> Schedule {
        var smallest = schedule
        var size = max(smallest.steps.count / 2, 1)
        while true {
            var index = 0
            var hasShrunk = false
            while index < smallest.steps.count {
                var candidate = smallest
                let end = min(index + size, candidate.steps.count)
                if candidate.steps.indices.contains(end) {
                    // The others keep their moments.
                    for step in candidate.steps[index..<end] { candidate.steps[end].wait += step.wait }
                }
                candidate.steps.removeSubrange(index..<end)
                if fails(candidate) {
                    smallest = candidate
                    hasShrunk = true
                } else {
                    index += size
                }
            }
            if size == 1, !hasShrunk { return simplified(smallest) }
            size = max(size / 2, 1)
        }
    }

    private static func simplified(_ schedule: Schedule) -> Schedule {
        var simplest = schedule
        let changes: [(inout Schedule.Options) -> Void] = [
            { $0.isBytewise = false }, { $0.isInline = false }, { $0.authAnswersInSpiteOfCancel = false },
            { $0.signsInline = true }, { $0.maximumQueuedEvents = 10_000 }, { $0.configuration = .init() },
        ]
        for change in changes {
            var candidate = simplest
            change(&candidate.options)
            if fails(candidate) { simplest = candidate }
        }
        return simplest
    }

    private static func fails(_ schedule: Schedule) -> Bool {
        let simulation = Simulation(schedule)
        simulation.run()
        return simulation.violation != nil
    }
}
