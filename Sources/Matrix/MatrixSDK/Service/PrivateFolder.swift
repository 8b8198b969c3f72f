import Basics
import Foundation
import Glibc
package import MatrixProtocol

/// The folder of a session, whose contents only its owner may read.
package enum PrivateFolder {
    /// Creates the folder if missing, and closes it to others.
    package static func make(_ folder: URL) throws(MatrixError) {
        if access(folder.path, F_OK) != 0 {
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            do {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: attributes)
            } catch {
                throw MatrixError(.file, "the session's folder \(folder.path) cannot be made")
            }
        }
        var status = stat()
        guard stat(folder.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw MatrixError(.file, "\(folder.path) is not a folder: name another for the session")
        }
        guard status.st_uid == geteuid(), status.st_mode & S_ISVTX == 0 else {
            throw MatrixError(.file, "\(folder.path) is shared with others: name a folder of its own for the session")
        }
        guard status.st_mode & 0o077 == 0 || chmod(folder.path, 0o700) == 0 else {
            throw MatrixError(.file, "\(folder.path) cannot be closed to others, so no session is kept there")
        }
    }
}
