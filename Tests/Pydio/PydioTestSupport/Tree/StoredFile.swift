import Basics
import Foundation
import Glibc

/// A file in the temporary folder, deleted with its object: files of any size cost no memory.
final class StoredFile: Sendable {
    struct Failed: Error {
        let what: String
    }

    private let descriptor: Int32
    private let written: Lock<Int>

    /// - Parameter size: The length of the file. It consists of zeros, which use no disk space.
    init(size: Int = 0) throws {
        let template = FileManager.default.temporaryDirectory.appending(path: "pydio-mock-XXXXXX").path
        var path = Array(template.utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw Failed(what: "mkstemp") }
        unlink(path)  // only the descriptor is needed, and a killed process leaves nothing
        written = Lock(size)
        guard size == 0 || ftruncate(descriptor, off_t(size)) == 0 else { throw Failed(what: "ftruncate") }
    }

    convenience init(_ bytes: [UInt8]) throws {
        try self.init()
        try bytes.withUnsafeBytes { try append($0) }
    }

    deinit { close(descriptor) }

    var size: Int { written.withLock { $0 } }

    /// Returns another descriptor of the file, which the caller must close.
    func duplicate() throws -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw Failed(what: "dup") }
        return copy
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws {
        try written.withLock { size throws in
            var rest = bytes
            while !rest.isEmpty {
                let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(size))
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw Failed(what: "pwrite") }
                size += count
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Appends the first bytes of `other` to this file, copied by the kernel.
    func append(_ other: StoredFile, count end: Int) throws {
        try written.withLock { size throws in
            var offset: off_t = 0
            guard lseek(descriptor, off_t(size), SEEK_SET) >= 0 else { throw Failed(what: "lseek") }
            while Int(offset) < end {
                let count = sendfile(descriptor, other.descriptor, &offset, end - Int(offset))
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw Failed(what: "sendfile") }
                size += count
            }
        }
    }

    /// Returns at most `count` bytes; fewer at the end.
    func read(at offset: Int, count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = max(pread(descriptor, buffer.baseAddress, count, off_t(offset)), 0)
        }
    }
}
