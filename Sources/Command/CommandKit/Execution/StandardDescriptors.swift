import Foundation

/// The three descriptors that a command inherits.
package enum StandardDescriptors {
    /// Takes the places of those that whoever started the command has closed, before anything else is opened there: an event
    /// loop or a socket would be read from and written to in their stead.
    ///
    /// They are opened the wrong way round, so that using them fails with `EBADF` just as it does with closed ones.
    package static func occupy() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is taken, and all below are.
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
