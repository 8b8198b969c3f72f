import Basics
import Foundation
import Glibc
import MatrixProtocol

/// Where a service keeps who is logged in. The file is its owner's alone, and is replaced as a whole: whatever happens, it
/// holds either the old credentials or the new ones.
final class CredentialsFile: Sendable {
    private static let name = "credentials.json"
    private static let maximumSize = 1 << 16

    private struct State {
        /// Held by whoever is logged in with the folder.
        var lock: FileLock?
        /// Writers of a login that is over do not bring it back.
        var isRetired = false
    }

    private let folder: String
    private let state = Lock(State())

    /// - Parameter folder: Is made if it is missing, and closed to others.
    init(in folder: URL) throws(MatrixError) {
        self.folder = folder.path
        try PrivateFolder.make(folder)
    }

    /// Keeps others from logging in with the folder until ``retire()`` or ``remove(_:)``.
    func hold(_ lock: FileLock) { state.withLock { $0.lock = lock } }

    /// That it holds, or a new one.
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

    /// - Returns: Nil if there is no file.
    /// - Throws: If there is one that cannot be read, or says nothing.
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

    /// Puts credentials in the place of what was there. When it returns they are on the disk.
    func write(_ credentials: MXCredentials) throws(MatrixError) {
        guard let data = try? JSONEncoder().encode(credentials) else {
            throw MatrixError(.file, "the credentials cannot be written as JSON")
        }
        try state.withLock { state throws(MatrixError) in
            guard !state.isRetired else { throw MatrixError(.cancelled, "the login is over: its tokens are not kept") }
            try MatrixError.ofFile { () throws(PrivateFileError) in try file.replace(with: data) }
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
            try MatrixError.ofFile { () throws(PrivateFileError) in try file.remove() }
        }
    }
}
