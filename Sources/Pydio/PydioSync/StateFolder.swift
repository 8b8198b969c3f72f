import Basics
import Foundation
import PydioProtocol
import PydioSDK

/// The folder in the local folder that holds the state, locked for one process at a time. The system releases the lock
/// when the process ends for any reason.
final class StateFolder: Sendable {
    let path: String
    private let lock: FileLock

    /// The folder of unfinished downloads.
    var parts: String { path + "/parts" }
    var database: String { path + "/state.sqlite" }

    static func path(in localFolder: String) -> String { localFolder + "/" + SyncNames.stateFolder }

    /// Opens the folder, and creates it if missing, accessible only to its owner.
    init(in localFolder: String) throws(SyncStateFailure) {
        path = Self.path(in: localFolder)
        for folder in [path, path + "/parts"] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw Self.failure("make", folder) }
            var status = stat()
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw SyncStateFailure("\(folder) is not a folder: remove it; nothing was synced")
            }
        }
        let file = path + "/lock"
        do throws(FileLock.Failure) {
            lock = try FileLock(file: file)
        } catch {
            throw switch error {
            case .held:
                SyncStateFailure(
                    "\(localFolder) is being synced by \(error.owner): wait for it or stop it; nothing was synced")
            case .unavailable(let reason): Self.failure("lock", file, reason)
            }
        }
    }

    /// Releases the lock for other syncs, even while an ended task still retains this object.
    func release() { lock.release() }

    private static func failure(_ what: String, _ file: String, _ reason: Int32 = errno) -> SyncStateFailure {
        SyncStateFailure("could not \(what) \(file): \(String(cString: strerror(reason))); nothing was synced")
    }

    /// Removes leftovers of downloads that are no longer needed.
    func removeParts() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parts)) ?? [] { unlink("\(parts)/\(name)") }
    }
}
