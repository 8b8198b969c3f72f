import Glibc

/// An exclusive lock on a file or folder (`flock(2)`), held until it is released or this object is deallocated. The
/// system releases it when the process ends, however it ends.
package final class FileLock: Sendable {
    package enum Failure: Error, Equatable {
        /// Another owner holds the lock.
        ///
        /// - Parameter process: The owner's process ID, if known.
        case held(process: Int32?)
        /// The system's `errno`.
        case unavailable(Int32)

        package var owner: String {
            guard case .held(let process?) = self else { return "another process" }
            return process == getpid() ? "this process" : "process \(process)"
        }
    }

    private static let pause: useconds_t = 5000

    private let descriptor: Int32

    /// - Parameters:
    ///   - descriptor: An open file or folder. It is closed with the lock, or if locking fails.
    ///   - patience: The time to wait for another owner, which blocks the thread. By default, zero.
    package init(_ descriptor: Int32, waiting patience: Duration = .zero) throws(Failure) {
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            if reason == EINTR { continue }
            if reason == EWOULDBLOCK, ContinuousClock.now < deadline {
                usleep(Self.pause)
                continue
            }
            defer { close(descriptor) }
            throw reason == EWOULDBLOCK ? .held(process: Self.owner(of: descriptor)) : .unavailable(reason)
        }
        self.descriptor = descriptor
    }

    package convenience init(folder: String, waiting patience: Duration = .zero) throws(Failure) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unavailable(errno) }
        try self.init(descriptor, waiting: patience)
    }

    /// Locks a file, creating it if it is missing. Only its owner can read it.
    package convenience init(file: String, waiting patience: Duration = .zero) throws(Failure) {
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .unavailable(errno) }
        try self.init(descriptor, waiting: patience)
    }

    deinit {
        release()
        close(descriptor)
    }

    /// Releases the lock before this object is deallocated. Closing the descriptor is not enough while a child of this
    /// process also has it, between fork and exec.
    package func release() { flock(descriptor, LOCK_UN) }

    /// Returns whether the file is still at its path. Its former owner may have renamed or deleted it.
    package func isFile(at path: String) -> Bool {
        var (locked, there) = (stat(), stat())
        return fstat(descriptor, &locked) == 0 && lstat(path, &there) == 0 && locked.st_mode & S_IFMT == S_IFREG
            && locked.st_ino == there.st_ino && locked.st_dev == there.st_dev
    }

    // MARK: The owner

    /// The system lists locks with numbers that, for some file systems, it uses nowhere else. The owner is therefore a
    /// process in the list that has the file open.
    private static func owner(of descriptor: Int32) -> Int32? {
        var file = stat()
        guard fstat(descriptor, &file) == 0 else { return nil }
        for line in lines(of: "/proc/locks") {
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK", let process = Int32(fields[4]), process > 0,
                fields[5].split(separator: ":").last == Substring(String(file.st_ino))
            else { continue }
            if hasOpen(process, file, except: process == getpid() ? descriptor : nil) { return process }
        }
        return nil
    }

    private static func hasOpen(_ process: Int32, _ file: stat, except own: Int32?) -> Bool {
        guard let folder = opendir("/proc/\(process)/fd") else { return false }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let number = Int32(name), number != own else { continue }
            var open = stat()
            guard stat("/proc/\(process)/fd/\(number)", &open) == 0 else { continue }
            if open.st_ino == file.st_ino, open.st_dev == file.st_dev { return true }
        }
        return false
    }

    private static func lines(of path: String) -> [Substring] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 14))
        while text.count < 1 << 20 {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            text += buffer.prefix(count)
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }
}
