import Foundation

/// Random schedules against the real machines: `simulate SEEDS [FIRST]`, or `simulate herd`.
@main
struct Simulate {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "herd" { return Herd.report() }
        guard let count = arguments.first.flatMap({ UInt64($0) }), count > 0,
            let first = arguments.dropFirst().first.map({ UInt64($0) }) ?? 1
        else {
            FileHandle.standardError.write(Data("usage: simulate SEEDS [FIRST] | simulate herd\n".utf8))
            exit(64)
        }
        let start = ContinuousClock.now
        var statistics = Statistics()
        for seed in first..<first + count {
            let simulation = Simulation(Schedule(seed: seed))
            simulation.run()
            statistics.add(simulation.statistics)
            guard let violation = simulation.violation else { continue }
            print("seed \(seed) fails after \(seed - first + 1) schedules: \(violation)\n")
            explain(Schedule(seed: seed))
            exit(1)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        for kind in Statistics.Kind.allCases {
            let name = kind.rawValue.padding(toLength: 26, withPad: " ", startingAt: 0)
            print(name + "\(statistics.counts[kind] ?? 0)".leftPadded(to: 12))
        }
        print("\(count) schedules from seed \(first), \(Int(Double(count) / seconds * 60)) a minute: no violation")
    }

    private static func explain(_ schedule: Schedule) {
        let smallest = Minimiser.minimise(schedule)
        let simulation = Simulation(smallest, isRecording: true)
        simulation.run()
        print("options: \(smallest.options)\n\nsteps:")
        for step in smallest.steps { print("  after \(step.wait): \(step.happening)") }
        print("\ntranscript:")
        for line in simulation.transcript ?? [] { print(line) }
        print("\nAgain: make simulate SEEDS=1 FIRST=\(schedule.seed)")
    }
}

extension String {
    fileprivate func leftPadded(to length: Int) -> String {
        String(repeating: " ", count: max(length - count, 0)) + self
    }
}
