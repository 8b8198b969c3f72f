import CLinux
import Glibc

/// A thread that is nobody else's.
package enum NamedThread {
    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }

    /// Runs `body` on a new thread, which ends with it. A write there to a connection that is gone is an error, and not the end
    /// of the process.
    ///
    /// - Parameter name: At most 15 bytes, as the kernel keeps them.
    /// - Returns: False if the system has no thread to give (`pthread_create`); nothing runs then.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var id = pthread_t()
        let start = Unmanaged.passRetained(Start(name, body))
        let failure = pthread_create(
            &id, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                name_this_thread(start.name)
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGPIPE)
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                start.body()
                return nil
            }, start.toOpaque())
        guard failure == 0 else {
            start.release()
            return false
        }
        pthread_detach(id)
        return true
    }
}
