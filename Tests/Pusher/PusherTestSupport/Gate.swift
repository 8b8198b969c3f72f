import Dispatch

/// Blocks threads until it opens.
package final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func wait() {
        semaphore.wait()
        semaphore.signal()
    }

    package func open() { semaphore.signal() }
}
