package import Foundation
import Glibc

/// A file that only its owner can read and that is replaced atomically.
///
/// Whatever happens, it contains either the old data or the new. A symbolic link stays a link: its target is read and
/// replaced, or created if it is missing.
package struct PrivateFile: Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    // MARK: Reading

    /// - Parameter maximumSize: The maximum size in bytes.
    /// - Returns: The contents; nil if there is no file.
    /// - Throws: An error if it cannot be read, is too large, belongs to another user, or can be read by others.
    package func read(upTo maximumSize: Int) throws(PrivateFileError) -> Data? {
        // Doesn't wait for a writer if it is a pipe.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(.unreadable(errno))
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw failure(.notAFile) }
        guard status.st_uid == geteuid() else { throw failure(.anotherUsers) }
        guard status.st_mode & 0o077 == 0 else { throw failure(.openToOthers(mode: status.st_mode & 0o777)) }
        guard let data = try? handle.read(upToCount: maximumSize + 1) ?? Data() else {
            throw failure(.unreadable(EIO))
        }
        guard data.count <= maximumSize else { throw failure(.tooLarge(maximumSize)) }
        return data
    }

    // MARK: Writing

    /// Replaces or creates the file. When this returns, the data is on the disk.
    ///
    /// Also removes leftovers of killed processes from the folder.
    ///
    /// - Returns: A lock on the new file, for a file that is valid only while its writer lives.
    /// - Throws: An error if the file cannot be written, or if a link leads to a place where others can write. The file
    ///   is then unchanged, unless only its folder could not be written to the disk.
    @discardableResult
    package func replace(with data: Data) throws(PrivateFileError) -> FileLock {
        let target = try target()
        let folder = URL(filePath: target).deletingLastPathComponent().path
        Draft.removeOrphans(in: folder)
        let draft: Draft
        do throws(FileLock.Failure) {
            draft = try Draft(in: folder)
        } catch {
            guard case .unavailable(let reason) = error else { throw failure(.unwritable(EAGAIN)) }
            throw failure(.unwritable(reason), at: target)
        }
        guard draft.write(data), rename(draft.path, target) == 0 else {
            let reason = errno
            unlink(draft.path)
            throw failure(.unwritable(reason), at: target)
        }
        // Ensures that a power failure does not bring the old data back.
        let parent = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        if parent >= 0 {
            defer { close(parent) }
            // Some file systems don't support this.
            guard fsync(parent) == 0 || errno == EINVAL || errno == ENOSYS else { throw failure(.unwritable(errno)) }
        }
        return draft.lock
    }

    /// Deletes the file if it exists; for a link, deletes the link.
    package func remove() throws(PrivateFileError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure(.undeletable(errno)) }
    }

    /// Returns the path of the existing or future file, at the end of a chain of links.
    private func target() throws(PrivateFileError) -> String {
        var target = path
        for _ in 0..<40 {
            var status = stat()
            guard lstat(target, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else {
                guard target == path || Self.isClosed(URL(filePath: target).deletingLastPathComponent().path) else {
                    throw failure(.leadsElsewhere(target))
                }
                return target
            }
            var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(target, &bytes, bytes.count)
            guard count > 0 else { throw failure(.unwritable(errno)) }
            let next = String(decoding: bytes.prefix(count), as: UTF8.self)
            let folder = URL(filePath: target).deletingLastPathComponent().path
            target = next.hasPrefix("/") ? next : folder + "/" + next
            // Other users could have created the link to have a file written where they have no access.
            guard [0, geteuid()].contains(status.st_uid) else { throw failure(.leadsElsewhere(target)) }
        }
        throw failure(.unwritable(ELOOP))
    }

    /// Returns whether only this user can write in a folder. True for a missing one, which causes an error later.
    private static func isClosed(_ folder: String) -> Bool {
        var status = stat()
        guard stat(folder, &status) == 0 else { return errno == ENOENT }
        return status.st_uid == geteuid() && status.st_mode & 0o022 == 0
    }

    private func failure(_ reason: PrivateFileError.Reason, at target: String? = nil) -> PrivateFileError {
        PrivateFileError(path: target.map { $0 == path ? path : "\(path), a link to \($0)," } ?? path, reason: reason)
    }
}

/// The reason why a private file was not read or written. Its description reveals nothing of the content.
package struct PrivateFileError: Error, Equatable, CustomStringConvertible {
    package enum Reason: Equatable, Sendable {
        case unreadable(Int32)
        case notAFile
        case anotherUsers
        case openToOthers(mode: mode_t)
        /// - Parameter maximumSize: The maximum size in bytes.
        case tooLarge(Int)
        /// A link leads to a place where others can write, or belongs to another user.
        case leadsElsewhere(String)
        case unwritable(Int32)
        case undeletable(Int32)
    }

    /// The path to show to people; for a link, including its target.
    package let path: String
    package let reason: Reason

    package var description: String {
        switch reason {
        case .unreadable(let code): "\(path) cannot be read: \(String(cString: strerror(code)))"
        case .notAFile: "\(path) is not a file"
        case .anotherUsers: "\(path) belongs to another user: it is not used"
        case .openToOthers(let mode):
            "others can read \(path), mode \(String(mode, radix: 8)): it is not used; run chmod 600 on it"
        case .tooLarge(let size): "\(path) is larger than \(size) bytes: it is not used"
        case .leadsElsewhere(let target):
            "\(path) leads to \(target), in a folder where others can write: it is not changed"
        case .unwritable(let code): "\(path) cannot be written: \(String(cString: strerror(code)))"
        case .undeletable(let code): "\(path) cannot be deleted: \(String(cString: strerror(code)))"
        }
    }
}

/// The new data of a private file, stored in its folder until it replaces the file. Locked while its writer lives.
private struct Draft {
    private static let suffix = ".draft"

    let path: String
    let lock: FileLock
    private let descriptor: Int32

    /// - Throws: The system's error.
    init(in folder: String) throws(FileLock.Failure) {
        while true {
            let path = "\(folder)/.\(UUID().uuidString)\(Self.suffix)"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw .unavailable(errno) }
            do throws(FileLock.Failure) {
                let lock = try FileLock(descriptor)
                if lock.isFile(at: path) {
                    (self.path, self.lock, self.descriptor) = (path, lock, descriptor)
                    return
                }
            } catch {
                unlink(path)
                if case .unavailable = error { throw error }
            }
            // Another process removed it as an orphan before it was locked.
        }
    }

    /// - Returns: False on failure, with `errno` set.
    func write(_ data: Data) -> Bool {
        let isWritten = data.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            var offset = 0
            while offset < bytes.count {
                let count = Glibc.write(descriptor, start + offset, bytes.count - offset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
        return isWritten && fchmod(descriptor, 0o600) == 0 && fsync(descriptor) == 0
    }

    /// Removes the drafts of this user whose writers were killed.
    static func removeOrphans(in folder: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard name.hasPrefix("."), name.hasSuffix(suffix),
                UUID(uuidString: String(name.dropFirst().dropLast(suffix.count))) != nil
            else { continue }
            let path = folder + "/" + name
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else {
                close(descriptor)
                continue
            }
            guard let lock = try? FileLock(descriptor), lock.isFile(at: path) else { continue }
            unlink(path)
            withExtendedLifetime(lock) {}
        }
    }
}
