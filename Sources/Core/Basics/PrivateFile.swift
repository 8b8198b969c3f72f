package import Foundation
import Glibc

/// A file that only its owner can read, and that is replaced as a whole.
///
/// Whatever happens, it holds either the old data or the new. A symbolic link stays a link: the file that it leads to is
/// read and replaced, or made if it is missing.
package struct PrivateFile: Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    // MARK: Reading

    /// - Parameter maximumSize: In bytes.
    /// - Returns: Nil if there is no file.
    /// - Throws: If it cannot be read, is too large, belongs to another user, or can be read by others.
    package func read(upTo maximumSize: Int) throws(PrivateFileError) -> Data? {
        // Not to wait for a writer, should it be a pipe.
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

    /// Puts data in the place of the file, or makes it. When this returns, they are on the disk.
    ///
    /// Removes what a killed process has left in the folder.
    ///
    /// - Returns: A lock on the new file, for a file that is valid as long as its writer lives.
    /// - Throws: If the file cannot be written, or a link leads to a place where others can write. The file is then as it
    ///   was, unless only its folder could not be written to the disk.
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
        // So that a power cut does not bring the old data back.
        let parent = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        if parent >= 0 {
            defer { close(parent) }
            // Some file systems cannot do this.
            guard fsync(parent) == 0 || errno == EINVAL || errno == ENOSYS else { throw failure(.unwritable(errno)) }
        }
        return draft.lock
    }

    /// Deletes it if it is there: of a link, the link.
    package func remove() throws(PrivateFileError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure(.undeletable(errno)) }
    }

    /// Where the file is, or would be: the end of a chain of links.
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
            // Others could have made it, to have a file written where they cannot.
            guard [0, geteuid()].contains(status.st_uid) else { throw failure(.leadsElsewhere(target)) }
        }
        throw failure(.unwritable(ELOOP))
    }

    /// Whether nobody else can write in a folder. One that is missing is left for the error that follows.
    private static func isClosed(_ folder: String) -> Bool {
        var status = stat()
        guard stat(folder, &status) == 0 else { return errno == ENOENT }
        return status.st_uid == geteuid() && status.st_mode & 0o022 == 0
    }

    private func failure(_ reason: PrivateFileError.Reason, at target: String? = nil) -> PrivateFileError {
        PrivateFileError(path: target.map { $0 == path ? path : "\(path), a link to \($0)," } ?? path, reason: reason)
    }
}

/// Why a private file was not read or written. Its description says nothing of its content.
package struct PrivateFileError: Error, Equatable, CustomStringConvertible {
    package enum Reason: Equatable, Sendable {
        case unreadable(Int32)
        case notAFile
        case anotherUsers
        case openToOthers(mode: mode_t)
        /// - Parameter maximumSize: In bytes.
        case tooLarge(Int)
        /// A link leads to a place where others can write, or is another user's.
        case leadsElsewhere(String)
        case unwritable(Int32)
        case undeletable(Int32)
    }

    /// For people: of a link, with where it leads.
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

/// The new data of a private file, in its folder, until they take its place. It is locked while its writer lives.
private struct Draft {
    private static let suffix = ".draft"

    let path: String
    let lock: FileLock
    private let descriptor: Int32

    /// - Throws: What the system says.
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
            // Somebody took it for an orphan before it was locked.
        }
    }

    /// - Returns: False if it fails, with `errno`.
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
