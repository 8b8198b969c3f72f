import Basics
import Foundation

/// Restores the terminal when the program dies of a fault, or of a signal that nothing handles: a signal handler writes
/// fixed bytes and restores the previous settings.
enum CrashRestoration {
    private static let numbers: [Int32] = [
        SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSYS, SIGQUIT,
    ]
    /// Other signals that end the program unless they are handled or ignored. From 34 on: real-time signals.
    private static let otherNumbers: [Int32] =
        [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGSTKFLT, SIGIO, SIGPWR] + Array(34...64)

    private struct Armed {
        var before: [(number: Int32, action: sigaction)]
    }

    private static let armed = Lock<Armed?>(nil)

    static func arm(output: Int32, settings: (descriptor: Int32, termios)?, bytes: String) {
        armed.withLock { armed in
            guard armed == nil else { return }
            crash.set(output: output, settings: settings, bytes: bytes)
            armed = Armed(
                before: (numbers + otherNumbers.filter(hasDefaultAction)).map { number in
                    var (new, old) = (sigaction(), sigaction())
                    new.__sigaction_handler.sa_handler = { number in
                        crash.restore()
                        // Raises it again with the default action, right here.
                        signal(number, SIG_DFL)
                        raise(number)
                    }
                    new.sa_flags = Int32(bitPattern: UInt32(SA_NODEFER) | UInt32(SA_ONSTACK))
                    sigaction(number, &new, &old)
                    return (number, old)
                })
        }
    }

    private static func hasDefaultAction(_ number: Int32) -> Bool {
        var action = sigaction()
        // `SIG_DFL` is the address 0, which Swift imports as nil.
        return sigaction(number, nil, &action) == 0 && action.__sigaction_handler.sa_handler == nil
    }

    static func disarm() {
        armed.withLock { state in
            for (number, action) in state?.before ?? [] {
                var action = action
                sigaction(number, &action, nil)
            }
            state = nil
        }
    }
}

/// Written before the handlers are installed, then only read by them, in a program that does nothing else any more.
private nonisolated(unsafe) let crash = CrashMemory()

private final class CrashMemory {
    private let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
    private let settings = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    private var count = 0
    private var output: Int32 = -1
    private var input: Int32 = -1

    init() {
        bytes.initialize(repeating: 0, count: 512)
        settings.initialize(to: termios())
    }

    func set(output: Int32, settings: (descriptor: Int32, termios)?, bytes: String) {
        let bytes = Array(bytes.utf8.prefix(512))
        self.bytes.update(from: bytes, count: bytes.count)
        count = bytes.count
        self.output = output
        input = settings?.descriptor ?? -1
        if let settings { self.settings.pointee = settings.1 }
    }

    /// Calls only functions that are safe in a signal handler.
    func restore() {
        if write(output, bytes, count) < 0, errno == EAGAIN {
            var wanted = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
            if poll(&wanted, 1, 1000) > 0 { _ = write(output, bytes, count) }
        }
        if input >= 0 { tcsetattr(input, TCSANOW, settings) }
    }
}
