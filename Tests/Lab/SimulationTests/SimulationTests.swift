import CurlTransport
import Testing

@testable import simulate

/// Claims of the simulation that once were wrong.
@NetworkActor
struct SimulationTests {
    /// The connection's remaining input is not read until the client has dropped it.
    @Test(
        arguments: [
            [(2, .call(.disconnect)), (0.03, .call(.connect))], [(2, .call(.move))], [(2, .hint(isLost: false))],
        ] as [[(Double, PusherSchedule.Happening)]])
    func garbageNeedsNoReportOnAConnectionThatTheClientHasLeft(leaving: [(Double, PusherSchedule.Happening)]) {
        let handshakeAndGarbageAreOnTheirWay: [(Double, PusherSchedule.Happening)] = [
            (0, .call(.connect)), (0.0006, .latency(.seconds(11))), (0.5, .garbage(.notJSON)),
            (1, .clockJump(.seconds(180))),
        ]
        for seed in 1...20 as ClosedRange<UInt64> {
            var schedule = PusherSchedule(seed: seed)
            schedule.options = PusherSchedule.Options()
            schedule.steps = (handshakeAndGarbageAreOnTheirWay + leaving).map { wait, happening in
                Step(wait: .seconds(wait), happening: happening)
            }
            let simulation = PusherSimulation(schedule)
            simulation.run()
            #expect(simulation.violation == nil, "seed \(seed)")
        }
    }
}
