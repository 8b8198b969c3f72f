import Glibc

/// Returns the factor by which a thread's CPU time grows for eight times as much: 8 if the work is linear, 64 if it is
/// quadratic. Takes the best of three, so that other load on the machine counts little.
package func growth(from size: Int, _ work: (_ size: Int) -> Void) -> Double {
    func time(_ size: Int) -> Double {
        (0..<3).map { _ in
            let start = threadTime()
            work(size)
            return threadTime() - start
        }.min() ?? 0
    }
    return time(8 * size) / max(time(size), 1e-6)
}

/// The CPU time of this thread in seconds.
private func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
