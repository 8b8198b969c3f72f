import Foundation
import Glibc
package import MatrixProtocol

/// Keeps all other services, of all processes, from logging in with the same folder. The system lets it go with the process,
/// however that ends.
package final class FolderLock: Sendable {
    private let descriptor: Int32

    /// - Throws: If another has it.
    package init(_ folder: URL) throws(MatrixError) {
        descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        while descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if descriptor >= 0, errno == EINTR { continue }
            let reason = String(cString: strerror(errno))
            throw errno == EWOULDBLOCK
                ? MatrixError(
                    .store,
                    "somebody is logged in with \(folder.path) already: log out there, or use another folder")
                : MatrixError(.file, "the session's folder \(folder.path) cannot be locked: \(reason)")
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Closing alone does not do while a child of this process has the descriptor too, between fork and exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
