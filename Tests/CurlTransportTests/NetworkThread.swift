import CLibcurl  // its headers bring timespec
import CurlTransport
import Glibc
import TestSupport
import Transport

/// Whether the I/O thread gets to rest. All tests share it, so one calm moment is enough; a loop that spins has none.
func networkThreadRests() async -> Bool {
    let moment = Lock(await Moment())
    return await eventually {
        let start = moment.withLock { $0 }
        guard ContinuousClock.now - start.time >= .milliseconds(100) else { return false }
        let end = await Moment()
        moment.withLock { $0 = end }
        return end.used - start.used < (end.time - start.time) / 5
    }
}

private struct Moment {
    let time: ContinuousClock.Instant
    /// The processor time that the I/O thread has used.
    let used: Duration

    init() async {
        time = .now
        used = await Self.networkThreadTime()
    }

    @NetworkActor
    private static func networkThreadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
