import Foundation

/// A file with secrets of the user's: nobody else can read it, and it is replaced as a whole.
struct PrivateFile {
    private static let maximumSize = 1 << 20

    let folder: URL
    let file: URL

    /// In `$XDG_CONFIG_HOME`, else in `~/.config`.
    init(_ name: String) {
        let home = FileManager.default.homeDirectoryForCurrentUser.appending(path: ".config")
        // A relative path there is to be ignored (XDG Base Directory Specification).
        let base = Environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil } ?? home
        folder = base.appending(path: "pusher-cli")
        file = folder.appending(path: name)
    }

    var exists: Bool { FileManager.default.fileExists(atPath: file.path) }

    /// Nil if there is none. One that others can read is refused.
    func read() throws(CommandFailure) -> Data? {
        // Not to wait for a writer, should it be a pipe.
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("cannot be read")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(.refused, "\(file.path) is not a file")
        }
        guard status.st_uid == geteuid() else {
            throw CommandFailure(.refused, "\(file.path) belongs to another user: it is not used")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw CommandFailure(
                .refused,
                "others can read \(file.path), mode \(String(status.st_mode & 0o777, radix: 8)): it is not used. "
                    + "If nobody has read it, chmod 600 it; else log out everywhere and log in again")
        }
        guard let data = try? handle.read(upToCount: Self.maximumSize) ?? Data() else {
            throw CommandFailure(.badData, "\(file.path) cannot be read to its end")
        }
        return data
    }

    func write(_ data: Data) throws(CommandFailure) {
        try makeFolder()
        let draft = folder.appending(path: ".\(file.lastPathComponent).\(UUID().uuidString)").path
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be written") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: data)
            try handle.synchronize()
        } catch {
            unlink(draft)
            throw CommandFailure(.unavailable, "\(file.path) cannot be written: is the disk full?")
        }
        guard rename(draft, file.path) == 0 else {
            let failure = failure("cannot be replaced")
            unlink(draft)
            throw failure
        }
    }

    func remove() throws(CommandFailure) {
        guard unlink(file.path) == 0 || errno == ENOENT else { throw failure("cannot be deleted") }
    }

    /// Makes the folder, and keeps others out of it.
    func makeFolder() throws(CommandFailure) {
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.unavailable, "the folder \(folder.path) cannot be made")
        }
        guard chmod(folder.path, 0o700) == 0 else { throw failure("is in a folder that is not ours") }
    }

    /// Nobody else changes files of the folder meanwhile, as long as all who do call this.
    func locking<Value>(_ body: () throws(CommandFailure) -> Value) throws(CommandFailure) -> Value {
        try makeFolder()
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("cannot be locked") }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("cannot be locked") }
        }
        return try body()
    }

    private func failure(_ what: String) -> CommandFailure {
        CommandFailure(.unavailable, "\(file.path) \(what): \(String(cString: strerror(errno)))")
    }
}
