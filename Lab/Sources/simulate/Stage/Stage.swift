import Basics
import CurlTransport

/// The common parts of all simulations: a loop, randomness, findings and a transcript.
@NetworkActor
final class Stage {
    let loop: SimulatedLoop
    var random: Random
    var lastClockJump: MonotonicInstant?
    var violation: String?
    var transcript: [String]?
    /// Whether nothing may happen by itself any more.
    var isOver = false
    /// Consecutive timers that left something due.
    var idleTimers = 0

    init(seed: UInt64, isRecording: Bool) {
        loop = SimulatedLoop(seed: seed ^ 0x100B)
        random = Random(seed: seed ^ 0x5EED)
        transcript = isRecording ? [] : nil
    }
}
