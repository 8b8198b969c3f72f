package import Dispatch

/// Returns after a block has run that was put on `queue` now: what was put there before has had its chance to start.
package func letOthersRun(on queue: DispatchQueue = .global()) {
    let hasRun = DispatchSemaphore(value: 0)
    queue.async { hasRun.signal() }
    hasRun.wait()
}
