import Basics
package import Foundation

package struct TimedLogEntry: Sendable {
    package let time: Date
    package let entry: PusherMockServer.LogEntry
}

/// A bounded queue of log entries for one reader. Counts the entries that a slow reader misses.
///
/// The event loop adds entries, the reader takes them.
final class LogFollower: Sendable {
    fileprivate struct State {
        /// The entries; those before `start` are taken or discarded, and `nil`.
        var entries: [TimedLogEntry?] = []
        var start = 0
        /// The total bytes of the waiting entries.
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
    ///   - limit: The maximum number of waiting entries; beyond that the oldest are discarded.
    ///   - maximumSize: The maximum total bytes of the waiting entries.
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

    /// Returns the oldest waiting entry, or waits for the next one; `nil` at the end. For one reader.
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

    /// Ends the sequence. Waiting entries can still be read.
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
        // Always keep the newest entry: a reader that returns gets it and the number of missed ones.
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
        // Their slots are removed together, so that discarding each costs little.
        if start > entries.count / 2 {
            entries.removeFirst(start)
            start = 0
        }
        return first
    }
}
