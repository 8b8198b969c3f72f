import Foundation
import Glibc

/// Moves complete files to their final names. Before that, only their owner can read them.
package enum FilePlacement {
    /// Gives an open file the permissions of the file that it replaces, or those of a new file.
    ///
    /// - Parameter former: The path of the file to replace. A new file's permissions apply if it is nil, or if there is
    ///   no file or a link.
    /// - Returns: False on failure, with `errno` set.
    package static func setMode(of descriptor: Int32, replacing former: String?) -> Bool {
        var status = stat()
        let isThere = former.map { lstat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG } ?? false
        return fchmod(descriptor, isThere ? status.st_mode & 0o777 : 0o666 & ~mask) == 0
    }

    /// Like ``setMode(of:replacing:)``, but for a path, which must not be a link.
    package static func setMode(of path: String, replacing former: String?) -> Bool {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return setMode(of: descriptor, replacing: former)
    }

    /// The mode bits that the process removes from new files. `umask(2)` reports them only by changing them, for all
    /// threads.
    private static var mask: mode_t {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line.flatMap { mode_t($0.dropFirst(6).trimmingCharacters(in: .whitespaces), radix: 8) } ?? 0o077
    }

    /// Moves a file. Unlike renaming, this never replaces an existing file.
    ///
    /// - Parameter link: A function that creates hard links, for tests.
    /// - Returns: False on failure, with `errno` set: `EEXIST` if the name is in use.
    package static func move(
        _ path: String, toNew target: String, link: (String, String) -> Int32 = { Glibc.link($0, $1) }
    ) -> Bool {
        if link(path, target) == 0 {
            unlink(path)
            return true
        }
        guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(errno) else { return false }
        // A file system without links: reserve the name with an empty file first.
        let place = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard place >= 0 else { return false }
        close(place)
        guard rename(path, target) != 0 else { return true }
        let reason = errno
        unlink(target)
        errno = reason
        return false
    }
}
