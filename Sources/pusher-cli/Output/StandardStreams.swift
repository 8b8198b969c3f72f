import Foundation
import Logging
import Basics

/// Whole lines to standard error. Nobody has to read them.
enum StandardError {
    static func write(_ line: TerminalText) {
        StatusLine.makingWay { writeToTerminal(line.shortened.text + "\n") }
    }

    /// A JSON object; see ``PeerText/escapedJSON(_:)``.
    static func write(json: String) {
        StatusLine.makingWay { writeToTerminal(PeerText.escapedJSON(json) + "\n") }
    }

    /// An error, in the user's words.
    static func complain(_ error: any Error) { write("error: \(Complaint.text(error))") }

    /// Without regard to the status line, which is written so.
    static func writeToTerminal(_ text: String) { _ = writeAll(text.utf8, to: STDERR_FILENO) }

    static var logger: Logger {
        var logger = Logger(label: "pusher-cli", factory: { StreamLogHandler.standardError(label: $0) })
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
    static var columns: Int? { isTerminal ? TerminalSize.columns(of: STDOUT_FILENO) : nil }
}

/// - Returns: What the system says if it cannot be done; nil if it is.
private func writeAll(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Int32? {
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
