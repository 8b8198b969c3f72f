import Basics
import Dispatch
import Foundation

/// Reads the lines of standard input one at a time, on demand.
final class ScriptReader: Sendable {
    enum Line: Hashable, Sendable {
        case text(String)
        /// A line that cannot be a command.
        case unusable(String)
        /// The input cannot be read and ends here.
        case unreadable
    }

    /// The maximum length in bytes. Longer lines are skipped.
    static let maximumLine = 1 << 20

    private struct State {
        var pending: [UInt8] = []
        /// Whether the current line is being skipped.
        var isTooLong = false
        var isAtEnd = false
    }

    private let descriptor: Int32
    private let state = Lock(State())
    /// The queue blocks while waiting for input, which tasks must not do in their thread pool.
    private let queue = DispatchQueue(label: "pusher-cli.script")

    init(_ descriptor: Int32 = STDIN_FILENO) {
        self.descriptor = descriptor
    }

    /// Returns `nil` at the end or if the task is cancelled.
    func next() async -> Line? {
        let isCancelled = Lock(false)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { [self] in continuation.resume(returning: read { isCancelled.withLock { $0 } }) }
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
    }

    private func read(isCancelled: () -> Bool) -> Line? {
        while !isCancelled() {
            if let line = state.withLock({ Self.takeLine(&$0) }) { return line }
            if state.withLock({ $0.isAtEnd }) { return nil }
            var descriptors = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptors, 1, 100)
            if ready == 0 || ready < 0 && errno == EINTR { continue }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            state.withLock { state in
                if count <= 0 { state.isAtEnd = true } else { state.pending += buffer[..<count] }
            }
            if count < 0 { return .unreadable }
        }
        return nil
    }

    private static func takeLine(_ state: inout State) -> Line? {
        let end = state.pending.firstIndex(of: UInt8(ascii: "\n"))
        guard let end = end ?? (state.isAtEnd && !state.pending.isEmpty ? state.pending.count : nil) else {
            if state.pending.count > maximumLine { (state.pending, state.isTooLong) = ([], true) }
            return nil
        }
        defer {
            state.pending.removeFirst(min(end + 1, state.pending.count))
            state.isTooLong = false
        }
        guard !state.isTooLong, end <= maximumLine else { return .unusable("is longer than 1 MiB") }
        guard let text = String(validating: state.pending[..<end], as: UTF8.self) else {
            return .unusable("is not UTF-8 text")
        }
        return .text(text.hasSuffix("\r") ? String(text.dropLast()) : text)
    }
}
