import Glibc

/// A lock on a file that belongs to an open descriptor and that others can query.
///
/// It is an open file description lock (`fcntl(2)`). A lock of `flock(2)` can only be queried by taking it for a
/// moment, during which others are refused.
package enum WholeFileLock {
    // The Glibc module hides these two behind `_GNU_SOURCE`.
    private static let get: Int32 = 36  // F_OFD_GETLK
    private static let set: Int32 = 37  // F_OFD_SETLK

    /// - Parameter descriptor: A file open for writing.
    /// - Returns: False on failure, with `errno` set: `EAGAIN` if another descriptor holds the lock.
    package static func take(_ descriptor: Int32) -> Bool {
        var lock = whole(F_WRLCK)
        return fcntl(descriptor, set, &lock) == 0
    }

    package static func release(_ descriptor: Int32) {
        var lock = whole(F_UNLCK)
        _ = fcntl(descriptor, set, &lock)
    }

    /// Returns whether another descriptor holds the lock now, in this process or another.
    package static func isHeld(_ descriptor: Int32) -> Bool {
        var lock = whole(F_WRLCK)
        return fcntl(descriptor, get, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    private static func whole(_ type: Int32) -> flock {
        var lock = flock()  // from the first byte to the end of the file, even as it grows
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        return lock
    }
}
