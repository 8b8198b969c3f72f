import CLinux
import Glibc

package enum NamedThread {
    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }

    /// Runs `body` on a new thread, which ends with it. On this thread, a write to a closed connection is an error and
    /// doesn't end the process.
    ///
    /// - Parameter name: At most 15 bytes, the kernel's limit.
    /// - Returns: False if the system can't create a thread (`pthread_create`); `body` then doesn't run.
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
