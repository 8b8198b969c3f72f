import Foundation
import Glibc

/// Gives files that are complete their names. Before that only their owner can read them.
package enum FilePlacement {
    /// Lets those read and write an open file who can do so with the one that it replaces, or with a new one.
    ///
    /// - Parameter former: Nil, or a path where no file is, or a link: a new one.
    /// - Returns: False if it fails, with `errno`.
    package static func setMode(of descriptor: Int32, replacing former: String?) -> Bool {
        var status = stat()
        let isThere = former.map { lstat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG } ?? false
        return fchmod(descriptor, isThere ? status.st_mode & 0o777 : 0o666 & ~mask) == 0
    }

    /// The same of a file by its path, which must not be a link.
    package static func setMode(of path: String, replacing former: String?) -> Bool {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return setMode(of: descriptor, replacing: former)
    }

    /// What the process takes away from the modes of new files: `umask(2)` tells only by changing it, for all threads.
    private static var mask: mode_t {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line.flatMap { mode_t($0.dropFirst(6).trimmingCharacters(in: .whitespaces), radix: 8) } ?? 0o077
    }

    /// Unlike renaming, this never replaces a file.
    ///
    /// - Parameter link: What makes hard links, for tests.
    /// - Returns: False if it fails, with `errno`: `EEXIST` if there is something of that name.
    package static func move(
        _ path: String, toNew target: String, link: (String, String) -> Int32 = { Glibc.link($0, $1) }
    ) -> Bool {
        if link(path, target) == 0 {
            unlink(path)
            return true
        }
        guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(errno) else { return false }
        // A file system without links: an empty file of ours takes the name first.
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
