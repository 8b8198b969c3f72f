import CurlTransport

/// Removes everything from a failing schedule that is not needed for the failure.
@NetworkActor
enum Minimiser<Subject: Simulation> {
    static func minimise(_ schedule: Subject.Plan) -> Subject.Plan {
        var smallest = schedule
        var size = max(smallest.steps.count / 2, 1)
        while true {
            var index = 0
            var hasShrunk = false
            while index < smallest.steps.count {
                var candidate = smallest
                let end = min(index + size, candidate.steps.count)
                if candidate.steps.indices.contains(end) {
                    // The other steps keep their times.
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

    private static func simplified(_ schedule: Subject.Plan) -> Subject.Plan {
        var simplest = schedule
        for change in Subject.Plan.simplifications {
            var candidate = simplest
            change(&candidate.options)
            if fails(candidate) { simplest = candidate }
        }
        return simplest
    }

    private static func fails(_ schedule: Subject.Plan) -> Bool {
        let simulation = Subject(schedule, isRecording: false)
        simulation.run()
        return simulation.violation != nil
    }
}
