package import Foundation

/// Reads the input of a command.
package enum Input {
    /// The maximum size of a message, in bytes, that a client accepts by default: no event, batch or webhook is larger.
    package static let maximumMessage = 10 << 20

    package static let unreadable = CommandFailure(.badData, "standard input cannot be read")

    /// Reads the bytes of a file; `-` is standard input, for which reading stops if the task is cancelled.
    ///
    /// - Parameter limit: The maximum number of bytes, because a device may never end.
    package static func bytes(of file: String, limit: Int) throws(CommandFailure) -> Data {
        let tooLong = CommandFailure(
            .badData, "\(file == "-" ? "standard input" : file) is larger than the \(limit) bytes that are allowed")
        if file == "-" {
            var data = Data()
            try StatusLine.pausing { () throws(CommandFailure) in
                try readStandardInput { bytes throws(CommandFailure) in
                    guard bytes.count <= limit - data.count else { throw tooLong }
                    data.append(contentsOf: bytes)
                }
            }
            return data
        }
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure(.badData, "\(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandFailure(.badData, "\(file) is a folder")
        }
        var data = Data()
        do {
            while data.count <= limit, let part = try handle.read(upToCount: 1 << 16), !part.isEmpty {
                data.append(part)
            }
        } catch {
            throw CommandFailure(.badData, "\(file) cannot be read to its end")
        }
        guard data.count <= limit else { throw tooLong }
        return data
    }

    /// Reads the text of a file; `-` is standard input.
    package static func text(of file: String, limit: Int) throws(CommandFailure) -> String {
        guard let text = String(data: try bytes(of: file, limit: limit), encoding: .utf8) else {
            throw CommandFailure(.badData, "\(file == "-" ? "standard input" : file) is not UTF-8 text")
        }
        return text
    }

    /// Copies standard input to a file; stops if the task is cancelled.
    package static func copyStandardInput(to file: URL) throws(CommandFailure) {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CommandFailure(.unavailable, "the file \(file.path) cannot be created") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try readStandardInput { (bytes) throws(CommandFailure) in
            guard (try? handle.write(contentsOf: bytes)) != nil else {
                throw CommandFailure(.unavailable, "\(file.path) cannot be written: is the disk full?")
            }
        }
    }

    /// Passes standard input to `take`, up to its end.
    private static func readStandardInput(
        _ take: (ArraySlice<UInt8>) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            guard !Task.isCancelled else { throw CommandFailure.interrupted }
            // Wait in short intervals, so that cancellation is noticed.
            var descriptors = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptors, 1, 100)
            if ready == 0 || ready < 0 && errno == EINTR { continue }
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable }
            if count == 0 { return }
            try take(buffer[..<count])
        }
    }

    /// Returns the argument itself, or for `-` standard input without the line end that `echo` and editors add.
    ///
    /// - Parameters:
    ///   - isExact: Whether to keep that line end.
    ///   - limit: The maximum number of bytes of standard input, without the line end.
    package static func text(
        given argument: String, isExact: Bool = false, limit: Int = maximumMessage
    ) throws(CommandFailure) -> String {
        guard argument == "-" else { return argument }
        let text = try text(of: "-", limit: limit + 2)
        return !isExact && text.last?.isLineEnd == true ? String(text.dropLast()) : text
    }
}

extension Character {
    fileprivate var isLineEnd: Bool { self == "\n" || self == "\r\n" }
}
