import Basics
import Foundation
import Glibc
import MatrixProtocol
import MatrixSDK

/// The stored record of an account.
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

/// The file that stores a program's accounts. Only its owner can read it, and each write replaces it as a whole.
/// Several processes can share it: each writes only the accounts that it has changed.
final class AccountsFile: Sendable {
    private static let maximumSize = 1 << 24

    private let folder: URL

    /// - Parameter folder: Created if missing, and made private to its owner.
    init(in folder: URL) { self.folder = folder }

    private var file: PrivateFile { PrivateFile(folder.appending(path: "accounts.json").path) }

    /// - Throws: If a file exists but cannot be read. The file is left as it is.
    func read() throws(MatrixError) -> [AccountRecord] {
        guard
            let data = try MatrixError.ofFile({ () throws(PrivateFileError) in try file.read(upTo: Self.maximumSize) })
        else { return [] }
        guard let records = try? JSONDecoder().decode([AccountRecord].self, from: data),
            records.allSatisfy({ $0.credentials.userId != nil })
        else {
            throw MatrixError(.file, "the accounts in \(file.path) are damaged: the file was left as it is")
        }
        return records
    }

    /// Changes the stored accounts while holding the file's lock. The result is on disk when this method returns.
    ///
    /// - Parameter change: Receives the current accounts.
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
        try MatrixError.ofFile { () throws(PrivateFileError) in try file.replace(with: data) }
    }

    /// Other processes hold the lock only for moments.
    private func lock() throws(MatrixError) -> FileLock {
        do throws(FileLock.Failure) {
            return try FileLock(folder: folder.path, waiting: .seconds(1))
        } catch {
            throw switch error {
            case .held:
                MatrixError(
                    .store,
                    "\(error.owner) has the accounts in \(file.path) for longer than a second: nothing was written")
            case .unavailable(let reason):
                MatrixError(.file, "the folder \(folder.path) cannot be locked: \(String(cString: strerror(reason)))")
            }
        }
    }
}
