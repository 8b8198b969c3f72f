import Foundation

/// What a command is given to read.
enum Input {
    /// The bytes of a file; `-` is standard input.
    static func bytes(of file: String) throws(CommandFailure) -> Data {
        let handle = file == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: file)
        guard let handle, let data = try? handle.readToEnd() ?? Data() else {
            throw CommandFailure(.badData, "\(file) cannot be read")
        }
        return data
    }

    /// The text of a file; `-` is standard input.
    static func text(of file: String) throws(CommandFailure) -> String {
        guard let text = String(data: try bytes(of: file), encoding: .utf8) else {
            throw CommandFailure(.badData, "\(file) is not UTF-8 text")
        }
        return text
    }

    /// Everything that comes on standard input, into a file; it stops if the task is cancelled.
    static func copyStandardInput(to file: URL) throws(CommandFailure) {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CommandFailure(.unavailable, "the file \(file.path) cannot be made") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !Task.isCancelled {
            // Not for longer than somebody wants it.
            var descriptors = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptors, 1, 100)
            if ready == 0 || ready < 0 && errno == EINTR { continue }
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandFailure(.badData, "standard input cannot be read") }
            if count == 0 { return }
            guard (try? handle.write(contentsOf: buffer[..<count])) != nil else {
                throw CommandFailure(.unavailable, "\(file.path) cannot be written: is the disk full?")
            }
        }
    }

    /// An argument as it is, or standard input for `-`.
    static func text(given argument: String) throws(CommandFailure) -> String {
        argument == "-" ? try text(of: "-") : argument
    }
}
