import Basics
import CurlTransport

/// What all simulations have: a loop, chance, what is found, and what is written down.
@NetworkActor
final class Stage {
    let loop: SimulatedLoop
    var random: Random
    var lastClockJump: MonotonicInstant?
    var violation: String?
    var transcript: [String]?
    /// Nothing may happen by itself any more.
    var isOver = false
    /// Timers in a row that left something due.
    var idleTimers = 0

    init(seed: UInt64, isRecording: Bool) {
        loop = SimulatedLoop(seed: seed ^ 0x100B)
        random = Random(seed: seed ^ 0x5EED)
        transcript = isRecording ? [] : nil
    }
}
