import Foundation
import Logging

/// Whole lines to standard error.
enum StandardError {
    static func write(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    static var logger: Logger {
        var logger = Logger(label: "pusher-cli", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = .debug
        return logger
    }
}

/// Whole lines to standard output, at once, so that what reads them is never behind.
enum StandardOutput {
    /// Says whether the line was taken: a reader that is gone takes nothing more.
    static func write(_ line: String) -> Bool { write((line + "\n").utf8) }

    /// The same of bytes.
    static func write(_ bytes: some Sequence<UInt8>) -> Bool {
        var bytes = Array(bytes)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return false }
            bytes = bytes.dropFirst(written)
        }
        return true
    }

    static var isTerminal: Bool { isatty(1) == 1 }
}
