import Basics
import CurlTransport
import Glibc
import TestSupport

/// Whether the I/O thread rests, that is, falls asleep again each time it is woken. All tests share it, so one calm
/// moment is enough. A loop that spins has none, however little time a busy machine gives it.
func networkThreadRests() async -> Bool {
    let rests = Lock((last: await voluntarySwitches(), inARow: 0))
    return await eventually {
        let count = await voluntarySwitches()
        return rests.withLock { rests in
            rests = (count, count > rests.last ? rests.inARow + 1 : 0)
            return rests.inARow == 10
        }
    }
}

/// The number of times the I/O thread has gone to sleep by itself.
@NetworkActor
private func voluntarySwitches() -> Int {
    var usage = rusage()
    getrusage(1, &usage)  // RUSAGE_THREAD
    return usage.ru_nvcsw
}
