import Basics
package import Foundation

/// A log entry, and when it was written.
package struct TimedLogEntry: Sendable {
    package let time: Date
    package let entry: PusherMockServer.LogEntry
}

/// What one reader of the log has not read yet: bounded, however slow the reader is. What it misses is counted.
///
/// The event loop adds, the reader takes.
final class LogFollower: Sendable {
    fileprivate struct State {
        /// Those before `start` are taken or given up, and nil.
        var entries: [TimedLogEntry?] = []
        var start = 0
        /// Bytes of the entries that wait.
        var size = 0
        var missedCount = 0
        var reader: CheckedContinuation<TimedLogEntry?, Never>?
        var isFinished = false
    }

    private let limit: Int
    private let maximumSize: Int
    private let isIncluded: @Sendable (PusherMockServer.LogEntry) -> Bool
    private let state = Lock(State())

    /// - Parameters:
    ///   - limit: Entries that wait; of more the oldest are given up.
    ///   - maximumSize: Bytes of all of them.
    init(
        limit: Int, maximumSize: Int, where isIncluded: @escaping @Sendable (PusherMockServer.LogEntry) -> Bool
    ) {
        self.limit = max(1, limit)
        self.maximumSize = maximumSize
        self.isIncluded = isIncluded
    }

    func add(_ entry: PusherMockServer.LogEntry) {
        guard isIncluded(entry) else { return }
        let entry = TimedLogEntry(time: Date(), entry: entry)
        let reader = state.withLock { state in
            guard !state.isFinished else { return CheckedContinuation<TimedLogEntry?, Never>?.none }
            let reader = state.reader.take()
            if reader == nil { state.add(entry, limit: limit, maximumSize: maximumSize) }
            return reader
        }
        reader?.resume(returning: entry)
    }

    /// The oldest entry that waits, or the next one; nil at the end. For one reader.
    func next() async -> TimedLogEntry? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isReady, entry) = state.withLock { state -> (Bool, TimedLogEntry?) in
                    if let entry = state.take() { return (true, entry) }
                    guard !state.isFinished, state.reader == nil else { return (true, nil) }
                    state.reader = continuation
                    return (false, nil)
                }
                if isReady { continuation.resume(returning: entry) }
            }
        } onCancel: {
            finish()
        }
    }

    /// What waits can still be read.
    func finish() {
        let reader = state.withLock { state in
            state.isFinished = true
            return state.reader.take()
        }
        reader?.resume(returning: nil)
    }
}

extension LogFollower.State {
    fileprivate mutating func add(_ entry: TimedLogEntry, limit: Int, maximumSize: Int) {
        entries.append(entry)
        size += entry.entry.size
        // The newest always stays: a reader that comes back learns what is new, and how much it missed.
        while entries.count - start > limit || (size > maximumSize && entries.count - start > 1) {
            removeFirst()
            missedCount += 1
        }
    }

    fileprivate mutating func take() -> TimedLogEntry? {
        if missedCount > 0 {
            let count = missedCount
            missedCount = 0
            return TimedLogEntry(time: entries[start]?.time ?? Date(), entry: .missed(count: count))
        }
        return start < entries.count ? removeFirst() : nil
    }

    @discardableResult
    private mutating func removeFirst() -> TimedLogEntry? {
        let first = entries[start].take()
        size -= first?.entry.size ?? 0
        start += 1
        // Their places go all at once, so that forgetting costs little for each.
        if start > entries.count / 2 {
            entries.removeFirst(start)
            start = 0
        }
        return first
    }
}
