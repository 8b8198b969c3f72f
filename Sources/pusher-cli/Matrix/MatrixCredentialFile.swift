import Foundation
import MatrixSDK

/// Who is logged in, with the token: a file that its owner alone can read, and that is replaced as a whole.
struct MatrixCredentialFile {
    private static let maximumSize = 1 << 16

    let folder: URL
    let file: URL

    /// In `$XDG_CONFIG_HOME`, else in `~/.config`.
    init() {
        let home = FileManager.default.homeDirectoryForCurrentUser.appending(path: ".config")
        // A relative path there is to be ignored (XDG Base Directory Specification).
        let base = Environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil } ?? home
        folder = base.appending(path: "pusher-cli")
        file = folder.appending(path: "matrix.json")
    }

    var exists: Bool { FileManager.default.fileExists(atPath: file.path) }

    func load() throws(CommandFailure) -> MXCredentials {
        // Not to wait for a writer, should it be a pipe.
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { throw CommandFailure(.refused, "nobody is logged in: pusher-cli matrix login") }
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
        guard let data = try? handle.read(upToCount: Self.maximumSize),
            let credentials = try? JSONDecoder().decode(MXCredentials.self, from: data),
            credentials.accessToken != nil, credentials.userId != nil, credentials.homeServer != nil
        else {
            throw CommandFailure(
                .badData, "\(file.path) is not as pusher-cli matrix login writes it: delete it, and log in again")
        }
        return credentials
    }

    func save(_ credentials: MXCredentials) throws(CommandFailure) {
        guard let data = try? JSONEncoder().encode(credentials) else {
            throw CommandFailure(.badData, "the credentials cannot be written as JSON")
        }
        try makeFolder()
        let draft = folder.appending(path: ".matrix.json.\(UUID().uuidString)").path
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

    /// Nobody is logged in any more.
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

    private func failure(_ what: String) -> CommandFailure {
        CommandFailure(.unavailable, "\(file.path) \(what): \(String(cString: strerror(errno)))")
    }
}
