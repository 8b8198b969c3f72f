import Foundation
import Glibc
import MatrixProtocol
import Basics

/// Where a service keeps who is logged in. The file is its owner's alone, and is replaced as a whole: whatever happens, it
/// holds either the old credentials or the new ones.
final class CredentialsFile: Sendable {
    private static let name = "credentials.json"
    private static let maximumSize = 1 << 16

    private struct State {
        /// Held by whoever is logged in with the folder.
        var lock: FolderLock?
        /// Writers of a login that is over do not bring it back.
        var isRetired = false
    }

    private let folder: String
    private let state = Lock(State())

    /// - Parameter folder: Is made if it is missing, and closed to others.
    init(in folder: URL) throws(MatrixError) {
        self.folder = folder.path
        try Self.makePrivate(folder)
    }

    /// Keeps others from logging in with the folder until ``retire()`` or ``remove(_:)``.
    func hold(_ lock: FolderLock) { state.withLock { $0.lock = lock } }

    /// That it holds, or a new one.
    func lock() throws(MatrixError) -> FolderLock {
        if let lock = state.withLock({ $0.lock }) { return lock }
        return try FolderLock(URL(filePath: folder))
    }

    private var path: String { folder + "/" + Self.name }

    private static func makePrivate(_ folder: URL) throws(MatrixError) {
        if access(folder.path, F_OK) != 0 {
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            do {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: attributes)
            } catch {
                throw MatrixError(.file, "the session's folder \(folder.path) cannot be made")
            }
        }
        var status = stat()
        guard stat(folder.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw MatrixError(.file, "\(folder.path) is not a folder: name another for the session")
        }
        guard status.st_uid == geteuid(), status.st_mode & S_ISVTX == 0 else {
            throw MatrixError(.file, "\(folder.path) is shared with others: name a folder of its own for the session")
        }
        guard status.st_mode & 0o077 == 0 || chmod(folder.path, 0o700) == 0 else {
            throw MatrixError(.file, "\(folder.path) cannot be closed to others, so no session is kept there")
        }
    }

    // MARK: Reading

    /// - Returns: Nil if there is no file.
    /// - Throws: If there is one that cannot be read, or says nothing.
    func read() throws(MatrixError) -> MXCredentials? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let data = try? file.read(upToCount: Self.maximumSize),
            let credentials = try? JSONDecoder().decode(MXCredentials.self, from: data),
            credentials.userId != nil, credentials.accessToken != nil, credentials.homeServer != nil
        else {
            throw MatrixError(.file, "the credentials in \(path) are damaged: log in again")
        }
        return credentials
    }

    // MARK: Writing

    /// Puts credentials in the place of what was there. When it returns they are on the disk.
    func write(_ credentials: MXCredentials) throws(MatrixError) {
        guard let data = try? JSONEncoder().encode(credentials) else {
            throw MatrixError(.file, "the credentials cannot be written as JSON")
        }
        try state.withLock { state throws(MatrixError) in
            guard !state.isRetired else { throw MatrixError(.cancelled, "the login is over: its tokens are not kept") }
            try replace(with: data)
        }
    }

    private func replace(with data: Data) throws(MatrixError) {
        let new = folder + "/.\(Self.name).\(UUID().uuidString)"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("write") }
        let isWritten =
            fchmod(descriptor, 0o600) == 0 && Self.write(data, to: descriptor) && fsync(descriptor) == 0
        guard close(descriptor) == 0, isWritten, rename(new, path) == 0 else {
            let error = failure("write")
            unlink(new)
            throw error
        }
        // So that a power cut does not bring the old tokens back, which are dead.
        let parent = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        if parent >= 0 {
            fsync(parent)
            close(parent)
        }
    }

    private static func write(_ data: Data, to descriptor: Int32) -> Bool {
        data.withUnsafeBytes { bytes in
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
    }

    // MARK: The end

    /// Nothing is written any more by whoever still holds this object; what is there stays.
    func retire() { state.withLock { $0 = State(isRetired: true) } }

    /// Deletes the file for good, unless it is another login's by now.
    ///
    /// - Parameter credentials: Of the login that is over.
    func remove(_ credentials: MXCredentials) throws(MatrixError) {
        try state.withLock { state throws(MatrixError) in
            state = State(isRetired: true)
            let there = (try? read()) ?? nil
            if let there, there.userId != credentials.userId || there.deviceId != credentials.deviceId { return }
            guard unlink(path) == 0 || errno == ENOENT else { throw failure("delete") }
        }
    }

    private func failure(_ what: String) -> MatrixError {
        MatrixError(.file, "could not \(what) \(path): \(String(cString: strerror(errno)))")
    }
}
