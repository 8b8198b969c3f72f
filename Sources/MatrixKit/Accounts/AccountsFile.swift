import Basics
import Foundation
import Glibc
import MatrixProtocol
import MatrixSDK

/// What is kept of an account.
struct AccountRecord: Codable, Equatable, Sendable {
    var credentials: MXCredentials
    var displayName: String?
    var avatarUrl: String?
    var isDisabled = false
    var hidesPresence = false
    var notifies = true
    var isSoftLogout = false
    var others: [String: Data] = [:]

    init(credentials: MXCredentials) { self.credentials = credentials }
}

/// Where the accounts of a program are kept. Only their owner can read it, and it is replaced as a whole. Several processes may
/// use it: each writes the accounts alone that it has changed.
final class AccountsFile: Sendable {
    private static let maximumSize = 1 << 24

    private let folder: URL

    /// - Parameter folder: Is made if it is missing, and closed to others.
    init(in folder: URL) { self.folder = folder }

    private var path: String { folder.appending(path: "accounts.json").path }

    /// - Throws: If there is a file that cannot be read: it is left as it is.
    func read() throws(MatrixError) -> [AccountRecord] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return [] }
            throw failure("read")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let data = try? file.read(upToCount: Self.maximumSize) ?? Data(),
            let records = try? JSONDecoder().decode([AccountRecord].self, from: data),
            records.allSatisfy({ $0.credentials.userId != nil })
        else {
            throw MatrixError(.file, "the accounts in \(path) are damaged: the file was left as it is")
        }
        return records
    }

    /// Changes what is there, while no other process does. When this returns it is on the disk.
    ///
    /// - Parameter change: Gets what is there now.
    func update(_ change: (inout [AccountRecord]) -> Void) throws(MatrixError) {
        try PrivateFolder.make(folder)
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let old = try read()
        var new = old
        change(&new)
        guard new != old else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(new) else {
            throw MatrixError(.file, "the accounts cannot be written as JSON")
        }
        guard FilePlacement.replacePrivate(path, with: data) else { throw failure("write") }
    }

    /// Another process has it for moments only.
    private func lock() throws(MatrixError) -> FolderLock {
        for _ in 0..<200 {
            do throws(MatrixError) {
                return try FolderLock(folder)
            } catch {
                guard error.code == .store else { throw error }
                usleep(5000)
            }
        }
        throw MatrixError(
            .store, "another process has the accounts in \(path) for longer than a second: nothing was written")
    }

    private func failure(_ what: String) -> MatrixError {
        MatrixError(.file, "could not \(what) \(path): \(String(cString: strerror(errno)))")
    }
}
