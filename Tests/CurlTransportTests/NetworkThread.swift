import CLibcurl  // its headers bring timespec
import CurlTransport
import Glibc
import TestSupport

/// Whether the I/O thread gets to rest. All tests share it, so one calm moment is enough; a loop that spins has none.
func networkThreadRests() async -> Bool {
    await eventually {
        let before = await networkThreadTime()
        try? await Task.sleep(for: .milliseconds(100))
        return await networkThreadTime() - before < .milliseconds(20)
    }
}

/// The processor time that the I/O thread has used.
@NetworkActor
private func networkThreadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
