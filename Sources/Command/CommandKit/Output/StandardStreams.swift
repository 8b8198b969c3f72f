package import Basics
import Foundation
package import Logging
import TerminalUI

/// Writes whole lines to standard error, ignoring failures.
package enum StandardError {
    /// Receives lines instead of the stream while a program uses the whole screen.
    package static let screen = Lock<(@Sendable (TerminalText) -> Void)?>(nil)

    package static func write(_ line: TerminalText) {
        if let screen = screen.withLock({ $0 }) { return screen(line.shortened) }
        StatusLine.makingWay { writeToTerminal(line.shortened.text + "\n") }
    }

    /// Writes a JSON object; see ``PeerText/escapedJSON(_:)``. Writes nothing while a program uses the whole screen.
    package static func write(json: String) {
        guard !isCovered else { return }
        StatusLine.makingWay { writeToTerminal(PeerText.escapedJSON(json) + "\n") }
    }

    /// Writes an error in the user's terms.
    package static func complain(_ error: any Error) { write("error: \(Complaint.text(error))") }

    /// Writes without regard to the status line, which is itself written this way.
    package static func writeToTerminal(_ text: String) { _ = writeAll(text.utf8, to: STDERR_FILENO) }

    /// Whether a program uses the whole screen of this terminal.
    private static var isCovered: Bool { screen.withLock { $0 != nil } && isTerminal }

    package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// The logger for `--verbose`. Its lines replace the status line like all others, and none is written over a
    /// full-screen program.
    package static var logger: Logger {
        var logger = Logger(
            label: "pusher-cli",
            factory: { label in
                guard isTerminal else { return StreamLogHandler.standardError(label: label) }
                return ConsoleLogHandler { if !isCovered { write($0) } }
            })
        logger.logLevel = .debug
        return logger
    }
}

/// Writes whole lines to standard output without buffering, so that the reader is always up to date.
package enum StandardOutput {
    /// The first error, after which nothing is written.
    private static let failure = Lock<Int32?>(nil)

    /// Returns whether the line was written: a closed pipe or a full disk accepts nothing more.
    package static func write(_ line: TerminalText) -> Bool {
        write(((line.isSameForPipes || isTerminal ? line.text : line.forPipes) + "\n").utf8)
    }

    /// Writes a JSON object; see ``PeerText/escapedJSON(_:)``.
    package static func write(json: String) -> Bool { write((PeerText.escapedJSON(json) + "\n").utf8) }

    /// Writes raw bytes on the user's request: a file or a decrypted text.
    package static func write(_ bytes: some Sequence<UInt8>) -> Bool {
        guard failure.withLock({ $0 }) == nil else { return false }
        let write = { writeAll(bytes, to: STDOUT_FILENO) }
        guard let error = isTerminal ? StatusLine.makingWay(write) : StatusLine.yielding(to: write) else { return true }
        failure.withLock { $0 = $0 ?? error }
        return false
    }

    /// Throws if output was lost, unless the reader left, or stopped reading after the command was asked to end
    /// (`EAGAIN`). Called at the end of a command, which is near if the command only writes.
    package static func requireTaken() throws(CommandFailure) {
        guard let error = failure.withLock({ $0 }), error != EPIPE, error != EAGAIN else { return }
        throw CommandFailure(
            .unwritable, "standard output cannot be written: \(String(cString: strerror(error)))")
    }

    package static var isTerminal: Bool { isatty(1) == 1 }

    /// The width of the terminal; `nil` if this is not one.
    package static var columns: Int? { isTerminal ? TerminalSize(of: STDOUT_FILENO).columns : nil }
}

/// The time that a write waits for a reader. Once a signal or a time limit has asked the command to end, an unread
/// terminal or pipe no longer holds it up.
package enum OutputPatience {
    private enum Phase {
        case endless
        /// Applies to each write.
        case limited
        case over
    }

    private static let phase = Lock(Phase.endless)
    private static let limit = Duration.seconds(1)

    /// Limits each write, including pending ones, to one second. After one has timed out, none waits.
    package static func limitWrites() { phase.withLock { if case .endless = $0 { $0 = .limited } } }

    /// - Returns: `EAGAIN` if there was no reader in time, another error, or `nil` on success.
    fileprivate static func write(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Int32? {
        var end: ContinuousClock.Instant?
        let deadline = { () -> ContinuousClock.Instant? in
            switch phase.withLock({ $0 }) {
            case .endless: break
            case .limited: end = end ?? .now + limit
            case .over: end = .now
            }
            return end
        }
        let error =
            isatty(descriptor) == 1
            ? TerminalWriter(descriptor).write(bytes, until: deadline)
            : writeToPipe(Array(bytes)[...], descriptor, until: deadline)
        if error == EAGAIN { phase.withLock { $0 = .over } }
        return error == 0 ? nil : error
    }

    /// Writes in parts of `PIPE_BUF` bytes, which a pipe with space accepts without blocking. The pipe is not made
    /// non-blocking, because other processes share its file description.
    private static func writeToPipe(
        _ bytes: ArraySlice<UInt8>, _ descriptor: Int32, until deadline: () -> ContinuousClock.Instant?
    ) -> Int32 {
        var bytes = bytes
        while !bytes.isEmpty {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&wanted, 1, 50) > 0 else {
                if let deadline = deadline(), deadline <= .now { return EAGAIN }
                continue
            }
            let count = bytes.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, min($0.count, Int(PIPE_BUF)))
            }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EAGAIN, errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

/// - Returns: The system's error; `nil` on success.
private func writeAll(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Int32? {
    var status = stat()
    let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    guard isFile else { return OutputPatience.write(bytes, to: descriptor) }
    var bytes = Array(bytes)[...]
    while !bytes.isEmpty {
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written >= 0 {
            bytes = bytes.dropFirst(written)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}
