import Basics
import Foundation
import Glibc
import MatrixProtocol

/// The file in which a service keeps its credentials. Only its owner can read it. It is replaced as a whole, so it
/// always holds either the old credentials or the new ones.
final class CredentialsFile: Sendable {
    private static let name = "credentials.json"
    private static let maximumSize = 1 << 16

    private struct State {
        /// Held by the service that is logged in with the folder.
        var lock: FileLock?
        /// Keeps writers of an ended login from restoring it.
        var isRetired = false
    }

    private let folder: String
    private let state = Lock(State())

    /// - Parameter folder: Created if missing, and closed to others.
    init(in folder: URL) throws(MatrixError) {
        self.folder = folder.path
        try PrivateFolder.make(folder)
    }

    /// Keeps others from logging in with the folder until ``retire()`` or ``remove(_:)``.
    func hold(_ lock: FileLock) { state.withLock { $0.lock = lock } }

    /// Returns the lock it holds, or a new one.
    func lock() throws(MatrixError) -> FileLock {
        if let lock = state.withLock({ $0.lock }) { return lock }
        do throws(FileLock.Failure) {
            return try FileLock(folder: folder)
        } catch {
            throw switch error {
            case .held:
                MatrixError(
                    .store,
                    "\(error.owner) is logged in with \(folder) already: log out there, or use another folder")
            case .unavailable(let reason):
                MatrixError(
                    .file, "the session's folder \(folder) cannot be locked: \(String(cString: strerror(reason)))")
            }
        }
    }

    private var file: PrivateFile { PrivateFile(folder + "/" + Self.name) }

    // MARK: Reading

    /// - Returns: `nil` if there is no file.
    /// - Throws: If the file cannot be read, or has no credentials.
    func read() throws(MatrixError) -> MXCredentials? {
        guard
            let data = try MatrixError.ofFile({ () throws(PrivateFileError) in try file.read(upTo: Self.maximumSize) })
        else { return nil }
        guard let credentials = try? JSONDecoder().decode(MXCredentials.self, from: data),
            credentials.userId != nil, credentials.accessToken != nil, credentials.homeServer != nil
        else {
            throw MatrixError(.file, "the credentials in \(file.path) are damaged: log in again")
        }
        return credentials
    }

    // MARK: Writing

    /// Replaces the credentials. They are on disk when this returns.
    func write(_ credentials: MXCredentials) throws(MatrixError) {
        guard let data = try? JSONEncoder().encode(credentials) else {
            throw MatrixError(.file, "the credentials cannot be written as JSON")
        }
        try state.withLock { state throws(MatrixError) in
            guard !state.isRetired else { throw MatrixError(.cancelled, "the login is over: its tokens are not kept") }
            try MatrixError.ofFile { () throws(PrivateFileError) in try file.replace(with: data) }
        }
    }

    // MARK: Ending

    /// Prevents further writing through this object; the file stays.
    func retire() { state.withLock { $0 = State(isRetired: true) } }

    /// Deletes the file permanently, unless it belongs to another login by now.
    ///
    /// - Parameter credentials: The credentials of the ended login.
    func remove(_ credentials: MXCredentials) throws(MatrixError) {
        try state.withLock { state throws(MatrixError) in
            state = State(isRetired: true)
            let there = (try? read()) ?? nil
            if let there, there.userId != credentials.userId || there.deviceId != credentials.deviceId { return }
            try MatrixError.ofFile { () throws(PrivateFileError) in try file.remove() }
        }
    }
}
