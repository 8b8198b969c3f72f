import Foundation
import Glibc
import MatrixProtocol

/// The folder of an account in a file store, and its files. Only their owner can access them, whatever the process's
/// umask.
struct StoreFolder: Sendable {
    let userId: String
    let path: String

    var database: String { path + "/store.sqlite" }
    var lock: String { path + "/lock" }
    /// The owner's socket, if any: see ``MXFileStore/agentFolder(of:in:)``.
    static let agent = "agent"
    /// A file that exists while the database is known to be damaged.
    private var damage: String { path + "/damaged" }

    init(of userId: String, in folder: URL) throws(MatrixError) {
        guard !userId.isEmpty else {
            throw MatrixError(.invalidArgument, "A store cannot be opened without a user id.")
        }
        self.userId = userId
        path = folder.path + "/" + Self.fileName(of: userId)
    }

    /// Returns a unique name for each user, safe for any file system: all characters except letters, digits, `-`, `_`
    /// and `.` are written as `%` and two digits. Ids that would become too long end in a hash.
    static func fileName(of userId: String) -> String {
        let letters = userId.utf8.enumerated().map { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            case UInt8(ascii: ".") where index > 0:
                "."
            default:
                "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        let name = letters.joined()
        guard name.utf8.count > 240 else { return name }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325  // FNV-1a; the database names its owner
        for byte in userId.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return name.prefix(220) + "-" + String(hash, radix: 16)
    }

    /// Creates the folder if it is missing.
    func make() throws(MatrixError) {
        var missing: [String] = []
        var parent = URL(fileURLWithPath: path)
        while access(parent.path, F_OK) != 0, errno == ENOENT, parent.path != "/" {
            missing.append(parent.path)
            parent.deleteLastPathComponent()
        }
        for folder in missing.reversed() {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw failure("make the folder", folder) }
            guard chmod(folder, 0o700) == 0 else { throw failure("make private the folder", folder) }
        }
        guard chmod(path, 0o700) == 0 else { throw failure("make private the folder", path) }
    }

    /// Opens a file that only its owner can read, creating it if it is missing.
    func open(_ file: String) throws(MatrixError) -> Int32 {
        let descriptor = Glibc.open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("open", file) }
        guard fchmod(descriptor, 0o600) == 0 else {
            let error = failure("make private", file)
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }

    /// SQLite gives the files that it creates next to the database the same mode.
    func prepareDatabase() throws(MatrixError) {
        Glibc.close(try open(database))
        for file in [database + "-wal", database + "-shm"] where access(file, F_OK) == 0 {
            Glibc.close(try open(file))
        }
    }

    /// Deletes the database, main file last: files without a main file belong to a database that is being put aside.
    func removeDatabase() throws(MatrixError) {
        for suffix in Self.suffixes.reversed() { try remove(database + suffix) }
        try remove(damage)
    }

    private static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// The name of an abandoned database until its keys are in the next one.
    var formerDatabase: String { database + ".former" }

    var hasFormerDatabase: Bool { access(formerDatabase, F_OK) == 0 }

    /// Puts the database aside, or continues doing so.
    func putDatabaseAside() throws(MatrixError) {
        guard !hasFormerDatabase || access(database, F_OK) != 0 else { return }
        for suffix in Self.suffixes {
            guard rename(database + suffix, formerDatabase + suffix) == 0 || errno == ENOENT else {
                throw failure("put aside", database + suffix)
            }
        }
    }

    func removeFormerDatabase() throws(MatrixError) {
        for suffix in Self.suffixes { try remove(formerDatabase + suffix) }
    }

    /// Deletes everything including the lock: ``StoreLock`` detects that the lock it holds no longer exists.
    func removeAll() throws(MatrixError) {
        try removeDatabase()
        try removeFormerDatabase()
        try remove(lock)
        try remove(path + "/" + Self.agent)
        rmdir(path)  // stays if it contains other files
    }

    private func remove(_ file: String) throws(MatrixError) {
        guard unlink(file) == 0 || errno == ENOENT else { throw failure("delete", file) }
    }

    var isMarkedAsDamaged: Bool { access(damage, F_OK) == 0 }

    /// Informs the next process that opens it. If this fails, the damage will be found again.
    func markAsDamaged() {
        guard let descriptor = try? open(damage) else { return }
        Glibc.close(descriptor)
    }

    func failure(_ what: String, _ file: String) -> MatrixError {
        let reason = String(cString: strerror(errno))
        return MatrixError(
            .store, "Could not \(what) \(file) of the store of \(userId): \(reason). Nothing was changed.")
    }
}
