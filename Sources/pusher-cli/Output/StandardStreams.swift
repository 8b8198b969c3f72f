import Foundation
import Logging
import Basics
import TerminalUI

/// Whole lines to standard error. Nobody has to read them.
enum StandardError {
    /// Takes lines in place of the stream, while a program has the whole screen.
    static let screen = Lock<(@Sendable (TerminalText) -> Void)?>(nil)

    static func write(_ line: TerminalText) {
        if let screen = screen.withLock({ $0 }) { return screen(line.shortened) }
        StatusLine.makingWay { writeToTerminal(line.shortened.text + "\n") }
    }

    /// A JSON object; see ``PeerText/escapedJSON(_:)``. Nothing is written over a program that has the whole screen.
    static func write(json: String) {
        guard !isCovered else { return }
        StatusLine.makingWay { writeToTerminal(PeerText.escapedJSON(json) + "\n") }
    }

    /// An error, in the user's words.
    static func complain(_ error: any Error) { write("error: \(Complaint.text(error))") }

    /// Without regard to the status line, which is written so.
    static func writeToTerminal(_ text: String) { _ = writeAll(text.utf8, to: STDERR_FILENO) }

    /// Whether a program has the whole screen of the terminal that this is.
    private static var isCovered: Bool { screen.withLock { $0 != nil } && isatty(STDERR_FILENO) == 1 }

    /// What `--verbose` logs. At a terminal its lines make way like all others, and none is written over a whole screen.
    static var logger: Logger {
        var logger = Logger(
            label: "pusher-cli",
            factory: { label in
                guard isatty(STDERR_FILENO) == 1 else { return StreamLogHandler.standardError(label: label) }
                return ConsoleLogHandler { if !isCovered { write($0) } }
            })
        logger.logLevel = .debug
        return logger
    }
}

/// Whole lines to standard output, at once, so that what reads them is never behind.
enum StandardOutput {
    /// Why nothing more is written: the first error.
    private static let failure = Lock<Int32?>(nil)

    /// Says whether the line was taken: a reader that is gone takes nothing more, nor does a full disk.
    static func write(_ line: TerminalText) -> Bool { write((line.text + "\n").utf8) }

    /// The same of a JSON object; see ``PeerText/escapedJSON(_:)``.
    static func write(json: String) -> Bool { write((PeerText.escapedJSON(json) + "\n").utf8) }

    /// Bytes as they are, for what somebody has asked for: a file, a decrypted text.
    static func write(_ bytes: some Sequence<UInt8>) -> Bool {
        guard failure.withLock({ $0 }) == nil else { return false }
        let write = { writeAll(bytes, to: STDOUT_FILENO) }
        guard let error = isTerminal ? StatusLine.makingWay(write) : StatusLine.yielding(to: write) else { return true }
        failure.withLock { $0 = $0 ?? error }
        return false
    }

    /// Says that not all was written, unless its reader had enough. Asked at a command's end, which is soon if what it does
    /// is to write.
    static func requireTaken() throws(CommandFailure) {
        guard let error = failure.withLock({ $0 }), error != EPIPE else { return }
        throw CommandFailure(
            .unwritable, "standard output cannot be written: \(String(cString: strerror(error)))")
    }

    static var isTerminal: Bool { isatty(1) == 1 }

    /// Columns of the terminal that it is; nil if it is none.
    static var columns: Int? { isTerminal ? TerminalSize(of: STDOUT_FILENO).columns : nil }
}

/// Once somebody has asked the command to end, a terminal that nobody reads keeps it no longer.
enum TerminalPatience {
    private enum Phase {
        case endless
        /// For each write.
        case limited
        case over
    }

    private static let phase = Lock(Phase.endless)
    private static let limit = Duration.seconds(1)

    /// From now on each write waits a second at most, and none does once one has waited in vain. So do those under way.
    static func limitWrites() { phase.withLock { if case .endless = $0 { $0 = .limited } } }

    fileprivate static func write(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Int32? {
        var end: ContinuousClock.Instant?
        let error = TerminalWriter(descriptor).write(bytes) {
            switch phase.withLock({ $0 }) {
            case .endless: break
            case .limited: end = end ?? .now + limit
            case .over: end = .now
            }
            return end
        }
        if error == EAGAIN { phase.withLock { $0 = .over } }
        return error == 0 ? nil : error
    }
}

/// - Returns: What the system says if it cannot be done; nil if it is.
private func writeAll(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Int32? {
    if isatty(descriptor) == 1 { return TerminalPatience.write(bytes, to: descriptor) }
    var bytes = Array(bytes)[...]
    while !bytes.isEmpty {
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written >= 0 {
            bytes = bytes.dropFirst(written)
        } else if errno == EAGAIN {
            // Whoever else has the terminal may have set it so.
            var descriptors = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&descriptors, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}
