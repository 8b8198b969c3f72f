import Basics
import Glibc
import MatrixProtocol

/// Holds a store for one process, and in it for one owner, until deallocated. The system releases it when the process
/// ends, in whatever way.
final class StoreLock: Sendable {
    private let descriptor: Int32
    /// The note of the last owner: see ``note(_:)``.
    let formerNote: String?

    init(_ folder: StoreFolder) throws(MatrixError) {
        // Deleting a store deletes its lock file while holding it: a lock on a deleted file is void.
        for _ in 0..<100 {
            try folder.make()
            let descriptor = try folder.open(folder.lock)
            while !WholeFileLock.take(descriptor) {
                if errno == EINTR { continue }
                defer { Glibc.close(descriptor) }
                guard errno == EAGAIN else { throw folder.failure("lock", folder.lock) }
                throw MatrixError(
                    .store,
                    "The store of \(folder.userId) in \(folder.path) is in use by \(Self.owner(descriptor)). "
                        + "Only one can use it at a time: close it there first.")
            }
            if Self.isSame(descriptor, folder.lock) {
                formerNote = Self.lines(descriptor).dropFirst().first
                Self.write([String(getpid()), formerNote], to: descriptor)
                self.descriptor = descriptor
                return
            }
            Glibc.close(descriptor)
        }
        throw MatrixError(.store, "The lock \(folder.lock) is deleted again and again: the store was not opened.")
    }

    deinit {
        // Closing alone is not enough while a child of this process also has the descriptor, between fork and exec.
        WholeFileLock.release(descriptor)
        Glibc.close(descriptor)
    }

    /// Returns whether the lock is still the store's lock file.
    func isHeld(in folder: StoreFolder) -> Bool { Self.isSame(descriptor, folder.lock) }

    /// Returns the current owner, which may change at any moment.
    static func ownership(of folder: StoreFolder) -> StoreOwnership {
        let descriptor = Glibc.open(folder.lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return .free }
        defer { Glibc.close(descriptor) }
        return WholeFileLock.isHeld(descriptor) ? .owned(process: process(descriptor)) : .free
    }

    private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
        var (held, there) = (stat(), stat())
        return fstat(descriptor, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino
            && held.st_dev == there.st_dev
    }

    /// Leaves a note for the next owner, which is not copied with the database alone.
    func note(_ note: String) { Self.write([String(getpid()), note], to: descriptor) }

    /// The file's number; a copy of the file has another one.
    var fileNumber: UInt64 {
        var file = stat()
        return fstat(descriptor, &file) == 0 ? UInt64(file.st_ino) : 0
    }

    private static func write(_ lines: [String?], to descriptor: Int32) {
        let text = lines.compactMap(\.self).joined(separator: "\n") + "\n"
        if ftruncate(descriptor, 0) == 0 { _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) } }
    }

    private static func lines(_ descriptor: Int32) -> [String] {
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private static func owner(_ descriptor: Int32) -> String {
        guard let process = process(descriptor) else { return "another process" }
        return process == getpid() ? "this process already" : "process \(process)"
    }

    private static func process(_ descriptor: Int32) -> Int32? { lines(descriptor).first.flatMap { Int32($0) } }
}
