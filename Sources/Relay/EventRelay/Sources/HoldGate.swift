import Basics

/// Keeps one task waiting while the stream accepts nothing more.
final class HoldGate: Sendable {
    private struct State: Sendable {
        var isHeld = false
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())

    var isHeld: Bool { state.withLock { $0.isHeld } }

    func hold(_ isHeld: Bool) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isHeld = isHeld && !state.isClosed
            guard !state.isHeld else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func close() {
        state.withLock { $0.isClosed = true }
        hold(false)
    }

    func waitUntilReleased() async {
        guard isHeld else { return }
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                if state.isHeld { state.waiter = continuation }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
    }
}
