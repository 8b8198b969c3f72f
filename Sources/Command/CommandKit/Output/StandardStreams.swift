package import Basics
import Foundation
package import Logging
import TerminalUI

/// Whole lines to standard error. Nobody has to read them.
package enum StandardError {
    /// Takes lines in place of the stream, while a program has the whole screen.
    package static let screen = Lock<(@Sendable (TerminalText) -> Void)?>(nil)

    package static func write(_ line: TerminalText) {
        if let screen = screen.withLock({ $0 }) { return screen(line.shortened) }
        StatusLine.makingWay { writeToTerminal(line.shortened.text + "\n") }
    }

    /// A JSON object; see ``PeerText/escapedJSON(_:)``. Nothing is written over a program that has the whole screen.
    package static func write(json: String) {
        guard !isCovered else { return }
        StatusLine.makingWay { writeToTerminal(PeerText.escapedJSON(json) + "\n") }
    }

    /// An error, in the user's words.
    package static func complain(_ error: any Error) { write("error: \(Complaint.text(error))") }

    /// Without regard to the status line, which is written so.
    package static func writeToTerminal(_ text: String) { _ = writeAll(text.utf8, to: STDERR_FILENO) }

    /// Whether a program has the whole screen of the terminal that this is.
    private static var isCovered: Bool { screen.withLock { $0 != nil } && isTerminal }

    package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// What `--verbose` logs. At a terminal its lines make way like all others, and none is written over a whole screen.
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

/// Whole lines to standard output, at once, so that what reads them is never behind.
package enum StandardOutput {
    /// Why nothing more is written: the first error.
    private static let failure = Lock<Int32?>(nil)

    /// Says whether the line was taken: a reader that is gone takes nothing more, nor does a full disk.
    package static func write(_ line: TerminalText) -> Bool {
        write(((line.isSameForPipes || isTerminal ? line.text : line.forPipes) + "\n").utf8)
    }

    /// The same of a JSON object; see ``PeerText/escapedJSON(_:)``.
    package static func write(json: String) -> Bool { write((PeerText.escapedJSON(json) + "\n").utf8) }

    /// Bytes as they are, for what somebody has asked for: a file, a decrypted text.
    package static func write(_ bytes: some Sequence<UInt8>) -> Bool {
        guard failure.withLock({ $0 }) == nil else { return false }
        let write = { writeAll(bytes, to: STDOUT_FILENO) }
        guard let error = isTerminal ? StatusLine.makingWay(write) : StatusLine.yielding(to: write) else { return true }
        failure.withLock { $0 = $0 ?? error }
        return false
    }

    /// Throws if not everything was written, unless the reader left, or did not read once the command was asked to end
    /// (`EAGAIN`). Called at a command's end, which is soon if its work is to write.
    package static func requireTaken() throws(CommandFailure) {
        guard let error = failure.withLock({ $0 }), error != EPIPE, error != EAGAIN else { return }
        throw CommandFailure(
            .unwritable, "standard output cannot be written: \(String(cString: strerror(error)))")
    }

    package static var isTerminal: Bool { isatty(1) == 1 }

    /// Columns of the terminal that it is; nil if it is none.
    package static var columns: Int? { isTerminal ? TerminalSize(of: STDOUT_FILENO).columns : nil }
}

/// How long a write waits for a reader. Once a signal or a time limit has asked the command to end, a terminal or pipe that
/// nobody reads no longer keeps it.
package enum OutputPatience {
    private enum Phase {
        case endless
        /// For each write.
        case limited
        case over
    }

    private static let phase = Lock(Phase.endless)
    private static let limit = Duration.seconds(1)

    /// From now on each write, pending ones included, waits for at most a second. After one has waited in vain, none waits.
    package static func limitWrites() { phase.withLock { if case .endless = $0 { $0 = .limited } } }

    /// - Returns: `EAGAIN` if nobody read in time, another error, or nil when everything is written.
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

    /// A pipe with room takes `PIPE_BUF` bytes without blocking. Its description is shared with other processes, so it is not
    /// made non-blocking.
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

/// - Returns: What the system says if it cannot be done; nil if it is.
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
