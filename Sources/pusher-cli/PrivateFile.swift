import Foundation

/// A file with secrets of the user's: nobody else can read it, and it is replaced as a whole.
struct PrivateFile {
    /// Which of the user's folders it is in (XDG Base Directory Specification).
    enum Base {
        /// `$XDG_CONFIG_HOME`, else `~/.config`.
        case configuration
        /// `$XDG_STATE_HOME`, else `~/.local/state`.
        case state
        /// `$XDG_DATA_HOME`, else `~/.local/share`.
        case data

        /// The command's folder in it.
        var folder: URL {
            // Foundation asks the system's list of users alone.
            let own = Environment["HOME"].map { URL(filePath: $0) } ?? FileManager.default.homeDirectoryForCurrentUser
            // A relative path there is to be ignored (XDG Base Directory Specification).
            let chosen = Environment[variable].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
            return (chosen ?? own.appending(path: pathInHome)).appending(path: "pusher-cli")
        }

        fileprivate var variable: String {
            switch self {
            case .configuration: "XDG_CONFIG_HOME"
            case .state: "XDG_STATE_HOME"
            case .data: "XDG_DATA_HOME"
            }
        }

        fileprivate var pathInHome: String {
            switch self {
            case .configuration: ".config"
            case .state: ".local/state"
            case .data: ".local/share"
            }
        }
    }

    private static let maximumSize = 1 << 20

    let folder: URL
    let file: URL
    private let cure: String?

    /// - Parameter cure: What to do if others may have read it.
    init(_ name: String, in base: Base = .configuration, ifReadByOthers cure: String? = nil) {
        self.cure = cure
        folder = base.folder
        file = folder.appending(path: name)
    }

    var exists: Bool { FileManager.default.fileExists(atPath: file.path) }

    /// Nil if there is none. One that others can read is refused.
    func read() throws(CommandFailure) -> Data? {
        // Not to wait for a writer, should it be a pipe.
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw CommandFailure(.badData, "\(file.path) cannot be read: \(String(cString: strerror(errno)))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(.badData, "\(file.path) is not a file")
        }
        guard status.st_uid == geteuid() else {
            throw CommandFailure(.badData, "\(file.path) belongs to another user: it is not used")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw CommandFailure(
                .badData,
                "others can read \(file.path), mode \(String(status.st_mode & 0o777, radix: 8)): it is not used; run "
                    + "chmod 600 on it\(cure.map { "; if others may have read it, \($0)" } ?? "")")
        }
        guard let data = try? handle.read(upToCount: Self.maximumSize) ?? Data() else {
            throw CommandFailure(.badData, "\(file.path) cannot be read to its end")
        }
        return data
    }

    func write(_ data: Data) throws(CommandFailure) {
        try makeFolder()
        try Self.replace(target(), with: data, named: file.path)
    }

    /// Writes a file that nobody else can read at any moment, in the place of one that may be there.
    ///
    /// - Parameter name: What errors call it; nil for its path.
    static func replace(_ target: URL, with data: Data, named name: String? = nil) throws(CommandFailure) {
        let name = name ?? target.path
        let draft =
            target.deletingLastPathComponent().appending(path: ".\(target.lastPathComponent).\(UUID().uuidString)").path
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(name, "cannot be written") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: data)
            try handle.synchronize()
        } catch {
            unlink(draft)
            throw CommandFailure(.unavailable, "\(name) cannot be written: is the disk full?")
        }
        guard rename(draft, target.path) == 0 else {
            let failure = failure(name, "cannot be replaced")
            unlink(draft)
            throw failure
        }
    }

    /// Where the file is: a link stays, for whoever keeps configuration in another place. A link to nothing is replaced.
    private func target() throws(CommandFailure) -> URL {
        guard let path = realpath(file.path, nil) else { return file }
        defer { free(path) }
        let target = URL(filePath: String(cString: path))
        var status = stat()
        guard stat(target.deletingLastPathComponent().path, &status) == 0, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else {
            throw CommandFailure(
                .badData, "\(file.path) leads to \(target.path), in a folder where others can write: it is not changed")
        }
        return target
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
            throw failure("cannot be written: there is no folder \(folder.path)")
        }
        guard chmod(folder.path, 0o700) == 0 else { throw failure("is in a folder that is not yours") }
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

    private func failure(_ what: String) -> CommandFailure { Self.failure(file.path, what) }

    private static func failure(_ name: String, _ what: String) -> CommandFailure {
        CommandFailure(.unavailable, "\(name) \(what): \(String(cString: strerror(errno)))")
    }
}
