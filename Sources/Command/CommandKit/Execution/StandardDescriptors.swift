import Foundation

/// The three descriptors that a command inherits.
package enum StandardDescriptors {
    /// Occupies those descriptors that the parent process has closed, before anything else is opened under their
    /// numbers: an event loop or a socket would otherwise be read and written in their place.
    ///
    /// They are opened in the wrong direction, so that using them fails with `EBADF` as with closed ones.
    package static func occupy() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // Opens the lowest free number; all lower ones are taken.
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
