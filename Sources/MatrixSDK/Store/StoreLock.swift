import Basics
import Glibc
import MatrixProtocol

/// Holds a store for one process, and in it for one owner, until it goes. The system lets it go with the process, however
/// that ends.
final class StoreLock: Sendable {
    private let descriptor: Int32

    init(_ folder: StoreFolder) throws(MatrixError) {
        // Whoever deletes the store deletes the lock file that it holds: a lock on that is none.
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
                Self.sign(descriptor)
                self.descriptor = descriptor
                return
            }
            Glibc.close(descriptor)
        }
        throw MatrixError(.store, "The lock \(folder.lock) is deleted again and again: the store was not opened.")
    }

    deinit {
        // Closing alone does not do while a child of this process has the descriptor too, between fork and exec.
        WholeFileLock.release(descriptor)
        Glibc.close(descriptor)
    }

    /// Whether the lock is still the one of the store there.
    func isHeld(in folder: StoreFolder) -> Bool { Self.isSame(descriptor, folder.lock) }

    /// Who holds it now. It may be different a moment later.
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

    private static func sign(_ descriptor: Int32) {
        let text = "\(getpid())\n"
        if ftruncate(descriptor, 0) == 0 { _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) } }
    }

    private static func owner(_ descriptor: Int32) -> String {
        guard let process = process(descriptor) else { return "another process" }
        return process == getpid() ? "this process already" : "process \(process)"
    }

    private static func process(_ descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Int32(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).filter(\.isNumber))
    }
}
