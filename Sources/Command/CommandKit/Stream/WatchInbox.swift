import Basics
package import Foundation

/// Delivers records to the screen. Blocks a producer that is too fast, so that nothing more is read in the meantime.
package final class WatchInbox: Sendable {
    package typealias Entry = (record: Record, time: Date)

    private struct State {
        var inbox = SerialInbox<Entry>()
        var isClosed = false
        var receive: (@MainActor @Sendable ([Entry]) -> Void)?
    }

    private static let maximumWaiting = 5000
    private static let entriesAtOnce = 250

    private let state = Lock(State())
    private let room = DispatchSemaphore(value: 0)

    package init() {}

    /// - Returns: Whether it was accepted; false if the screen is closed.
    package func add(_ record: Record, at time: Date) -> Bool {
        while state.withLock({ !$0.isClosed && $0.inbox.count >= Self.maximumWaiting }) {
            _ = room.wait(timeout: .now() + .milliseconds(100))
        }
        let (isClosed, begins) = state.withLock { state in
            guard !state.isClosed else { return (true, false) }
            state.inbox.add((record, time))
            return (false, state.receive != nil && state.inbox.begin())
        }
        if begins { hand() }
        return !isClosed
    }

    /// Delivers records in batches of a few hundred.
    package func receive(_ receive: @escaping @MainActor @Sendable ([Entry]) -> Void) {
        let begins = state.withLock { state in
            state.receive = receive
            return state.inbox.begin()
        }
        if begins { hand() }
    }

    package func close() {
        state.withLock { $0.isClosed = true }
        room.signal()
    }

    private func hand() {
        Task { @MainActor in
            while true {
                let (entries, receive) = state.withLock { ($0.inbox.next(atMost: Self.entriesAtOnce), $0.receive) }
                guard !entries.isEmpty else { return }
                room.signal()
                receive?(entries)
                // Let keys and frames be handled in between.
                await Task.yield()
            }
        }
    }
}
