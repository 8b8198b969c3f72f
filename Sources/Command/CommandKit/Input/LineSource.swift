import Basics
import Dispatch
import Foundation

/// Standard input as lines. A separate thread reads slightly ahead of the consumer.
package final class LineSource: Sendable {
    private enum End {
        case reached
        case stopped
        case failed(CommandFailure)
    }

    /// The input that was not consumed.
    package struct Rest {
        /// The number of lines read.
        package let count: Int
        /// Whether the input has no more lines.
        package let isAll: Bool
        /// Whether ``LineSource/stop()`` was called.
        package let isStopped: Bool
    }

    private struct State {
        var lines: [InputLine] = []
        var isStopping = false
        /// Whether the reader is waiting for lines to be consumed.
        var isFull = false
        var end: End?
        var waiter: CheckedContinuation<Void, Never>?
        /// The task that ``stop()`` cancels.
        var wait: Task<Void, any Error>?
    }

    /// The number of bytes per read, which also bounds the work left when reading stops.
    private static let chunkSize = 2048

    private let readAhead: Int
    private let maximumLength: Int
    private let state = Lock(State())
    private let room = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - readAhead: The number of waiting lines at which reading pauses, apart from those of one read.
    ///   - maximumLength: The maximum length of a line, in bytes.
    package init(readAhead: Int, maximumLength: Int) {
        (self.readAhead, self.maximumLength) = (readAhead, maximumLength)
        // The status line would overwrite the user's input.
        if isatty(STDIN_FILENO) == 1 { StatusLine.end() }
        Thread.detachNewThread { [self] in read() }
    }

    /// Stops reading, returns no more lines, and cancels pending waits.
    package func stop() {
        let (mustWake, wait) = state.withLock { state in
            state.isStopping = true
            defer { state.isFull = false }
            return (state.isFull, state.wait)
        }
        wait?.cancel()
        if mustWake { room.signal() }
    }

    package var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Waits for work that ``stop()`` cancels.
    package func untilStopped(_ work: @escaping @Sendable () async throws -> Void) async throws {
        let wait = Task { try await work() }
        let isStopping = state.withLock { state in
            state.wait = wait
            return state.isStopping
        }
        if isStopping { wait.cancel() }
        defer { state.withLock { $0.wait = nil } }
        try await wait.value
    }

    /// Stops reading and returns what is left.
    package func rest() async -> Rest {
        let isStopped = isStopping
        stop()
        while state.withLock({ $0.end == nil }) { await waitForNews() }
        return state.withLock { state in
            let isAll = if case .reached = state.end { true } else { false }
            return Rest(count: state.lines.count, isAll: isAll, isStopped: isStopped)
        }
    }

    /// Whether a line is available.
    package var hasLines: Bool { state.withLock { !$0.lines.isEmpty } }

    /// Waits for a line and returns the available ones; none at the end of the input or after ``stop()``.
    ///
    /// - Throws: If the input cannot be read.
    package func next(atMost count: Int) async throws(CommandFailure) -> [InputLine] {
        while true {
            let (lines, end, mustWake) = state.withLock { state -> ([InputLine], End?, Bool) in
                guard !state.isStopping else { return ([], state.end ?? .stopped, false) }
                let lines = Array(state.lines.prefix(count))
                state.lines.removeFirst(lines.count)
                let mustWake = state.isFull && state.lines.count < readAhead
                if mustWake { state.isFull = false }
                return (lines, state.end, mustWake)
            }
            if mustWake { room.signal() }
            guard lines.isEmpty else { return lines }
            switch end {
            case .reached, .stopped: return []
            case .failed(let failure): throw failure
            case nil: await waitForNews()
            }
        }
    }

    private func waitForNews() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.lines.isEmpty || state.isStopping, state.end == nil else { return true }
                state.waiter = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    // MARK: The reader thread

    private func read() {
        var splitter = LineSplitter(maximumLength: maximumLength)
        var buffer = [UInt8](repeating: 0, count: Self.chunkSize)
        while waitForRoom() {
            // Wait in short intervals, so that the reader can stop.
            var descriptors = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptors, 1, 100)
            if ready == 0 || ready < 0 && errno == EINTR { continue }
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { return add([], end: .failed(Input.unreadable)) }
            guard count > 0 else { return add(splitter.end().map { [$0] } ?? [], end: .reached) }
            add(splitter.split(buffer[..<count]))
        }
        add([], end: .stopped)
    }

    /// - Returns: Whether to continue.
    private func waitForRoom() -> Bool {
        while true {
            let goesOn = state.withLock { state -> Bool? in
                if state.isStopping { return false }
                state.isFull = state.lines.count >= readAhead
                return state.isFull ? nil : true
            }
            if let goesOn { return goesOn }
            room.wait()
        }
    }

    private func add(_ lines: [InputLine], end: End? = nil) {
        let waiter = state.withLock { state in
            state.lines += lines
            state.end = end
            guard !lines.isEmpty || end != nil else { return nil as CheckedContinuation<Void, Never>? }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
