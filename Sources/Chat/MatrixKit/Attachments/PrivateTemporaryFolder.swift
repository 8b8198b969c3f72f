import Basics
import Foundation
import Glibc
import MatrixSDK

/// A folder for decrypted files. It is deleted when the process exits. A folder left by a killed process is deleted by
/// the next process that creates one or calls ``removeOrphans()``.
@MainActor
final class PrivateTemporaryFolder {
    private static let prefix = "matrixkit-clear-"
    /// The folders to delete when the process exits.
    private static let all = Lock<[String]>([])
    private static let deletesAtExit: Void = {
        atexit {
            for path in PrivateTemporaryFolder.all.withLock({ $0 }) {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }()

    private var made: (url: URL, lock: FileLock)?

    /// The folder, created on first use; `nil` if that fails.
    var url: URL? {
        if let made { return made.url }
        Self.removeOrphans()
        let url = FileManager.default.temporaryDirectory.appending(path: Self.prefix + UUID().uuidString)
        do {
            try PrivateFolder.make(url)
            made = (url, try FileLock(folder: url.path))
        } catch {
            return nil
        }
        Self.all.withLock { $0.append(url.path) }
        _ = Self.deletesAtExit
        return url
    }

    func contains(_ file: URL) -> Bool { file.deletingLastPathComponent().path == made?.url.path }

    /// Deletes the folders of this user's processes that are no longer running.
    static func removeOrphans() {
        let parent = FileManager.default.temporaryDirectory
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let folder = parent.appending(path: name)
            var status = stat()
            guard lstat(folder.path, &status) == 0, status.st_uid == geteuid(),
                let lock = try? FileLock(folder: folder.path)
            else {
                continue
            }
            try? FileManager.default.removeItem(at: folder)
            withExtendedLifetime(lock) {}
        }
    }
}
