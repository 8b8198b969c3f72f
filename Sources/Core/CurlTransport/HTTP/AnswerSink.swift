import CLinux
import Glibc
import Transport

/// A file for the body of a response, created with the first byte. Writing blocks the I/O thread for as long as the
/// file system takes.
@NetworkActor
final class AnswerSink {
    private let file: HTTPAnswerFile
    private let maximumSize: Int
    private var descriptor: Int32 = -1
    private var size = 0

    init(_ file: HTTPAnswerFile, maximumSize: Int) {
        (self.file, self.maximumSize) = (file, maximumSize)
    }

    isolated deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// - Parameter start: The position of the response in the whole file.
    func write(_ bytes: UnsafeRawBufferPointer, from start: Int64) throws(TransportError) {
        try openIfNeeded(from: start)
        size += bytes.count
        guard size <= maximumSize else {
            throw TransportError(.tooLarge, "the file is larger than \(maximumSize) bytes (maximumBodySize)")
        }
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("written") }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Completes the file; an empty response creates an empty file.
    func finish(from start: Int64) throws(TransportError) {
        try openIfNeeded(from: start)
        defer { descriptor = -1 }
        guard close(descriptor) == 0 else { throw failure("written") }
    }

    private func openIfNeeded(from start: Int64) throws(TransportError) {
        guard descriptor < 0 else { return }
        let resumes = file.resumes && start != 0
        // Others may be able to guess its name, so it must not be a link.
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (resumes ? O_APPEND : O_TRUNC)
        descriptor = open(file.path, flags, 0o600)
        guard descriptor >= 0 else { throw failure("opened") }
        guard resumes else { return }
        size = Int(max(lseek(descriptor, 0, SEEK_END), 0))
        guard start == size else {
            throw TransportError(.file, "the server sends another part of the file than was asked for")
        }
    }

    private func failure(_ what: String) -> TransportError {
        TransportError(.file, "the file for the answer cannot be \(what): \(String(cString: strerror(errno)))")
    }
}
