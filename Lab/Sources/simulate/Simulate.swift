import CurlTransport
import Foundation

/// Random schedules for the real machines and the real driver.
@main
struct Simulate {
    private static let usage =
        "usage: simulate [pusher|matrix|rooms|encryption|pydio|relay] SEEDS [FIRST] | simulate herd\n"

    static func main() async {
        var arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "herd" { return Herd.report() }
        let machine = arguments.first.flatMap { UInt64($0) == nil ? arguments.popFirst() : nil }
        guard let count = arguments.first.flatMap({ UInt64($0) }), count > 0,
            let first = arguments.dropFirst().first.map({ UInt64($0) }) ?? 1,
            await run(machine, first..<first + count)
        else {
            FileHandle.standardError.write(Data(usage.utf8))
            exit(64)
        }
    }

    /// - Returns: False if there is no such machine.
    @NetworkActor
    private static func run(_ machine: String?, _ seeds: Range<UInt64>) -> Bool {
        switch machine {
        case nil:
            simulate(PusherSimulation.self, "pusher", seeds)
            simulate(MatrixSimulation.self, "matrix", seeds)
            simulate(RoomsSimulation.self, "rooms", seeds)
            simulate(EncryptionSimulation.self, "encryption", seeds)
            simulate(PydioSimulation.self, "pydio", seeds)
            simulate(RelaySimulation.self, "relay", seeds)
        case "pusher": simulate(PusherSimulation.self, "pusher", seeds)
        case "matrix": simulate(MatrixSimulation.self, "matrix", seeds)
        case "rooms": simulate(RoomsSimulation.self, "rooms", seeds)
        case "encryption": simulate(EncryptionSimulation.self, "encryption", seeds)
        case "pydio": simulate(PydioSimulation.self, "pydio", seeds)
        case "relay": simulate(RelaySimulation.self, "relay", seeds)
        default: return false
        }
        return true
    }

    @NetworkActor
    private static func simulate<Subject: Simulation>(_: Subject.Type, _ machine: String, _ seeds: Range<UInt64>) {
        let start = ContinuousClock.now
        var statistics = Statistics<Subject.Kind>()
        for seed in seeds {
            let simulation = Subject(Subject.Plan(seed: seed), isRecording: false)
            simulation.run()
            statistics.add(simulation.statistics)
            guard let violation = simulation.violation else { continue }
            print("\(machine): seed \(seed) fails after \(seed - seeds.lowerBound + 1) schedules: \(violation)\n")
            explain(Subject.self, Subject.Plan(seed: seed), "SEEDS=1 FIRST=\(seed) MACHINE=\(machine)")
            exit(1)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        for kind in Subject.Kind.allCases {
            let name = kind.rawValue.padding(toLength: 32, withPad: " ", startingAt: 0)
            print(name + "\(statistics.counts[kind] ?? 0)".leftPadded(to: 12))
        }
        print(
            "\(machine): \(seeds.count) schedules from seed \(seeds.lowerBound), "
                + "\(Int(Double(seeds.count) / seconds * 60)) a minute: no violation")
    }

    @NetworkActor
    private static func explain<Subject: Simulation>(_: Subject.Type, _ schedule: Subject.Plan, _ again: String) {
        let smallest = Minimiser<Subject>.minimise(schedule)
        let simulation = Subject(smallest, isRecording: true)
        simulation.run()
        print("options: \(smallest.options)\n\nsteps:")
        for step in smallest.steps { print("  after \(step.wait): \(step.happening)") }
        print("\ntranscript:")
        for line in simulation.stage.transcript ?? [] { print(line) }
        print("\nAgain: make -C Lab simulate \(again)")
    }
}

extension String {
    fileprivate func leftPadded(to length: Int) -> String {
        String(repeating: " ", count: max(length - count, 0)) + self
    }
}
