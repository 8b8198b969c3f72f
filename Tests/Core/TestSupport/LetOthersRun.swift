package import Dispatch

/// Waits for a new block on `queue`, so that blocks enqueued earlier had a chance to start.
package func letOthersRun(on queue: DispatchQueue = .global()) {
    let hasRun = DispatchSemaphore(value: 0)
    queue.async { hasRun.signal() }
    hasRun.wait()
}
