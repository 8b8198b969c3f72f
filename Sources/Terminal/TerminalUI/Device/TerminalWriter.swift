import Foundation

/// Writes to a terminal, and gives up if nobody reads it.
public final class TerminalWriter: Sendable {
    private let descriptor: Int32
    /// The terminal, opened a second time so that writes don't block; below 0 if that failed.
    private let opened: Int32

    /// - Parameter descriptor: The terminal's descriptor. It stays open.
    public init(_ descriptor: Int32) {
        self.descriptor = descriptor
        opened =
            isatty(descriptor) == 1
            ? open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1
    }

    var target: Int32 { opened >= 0 ? opened : descriptor }

    deinit { if opened >= 0 { close(opened) } }

    /// - Parameter deadline: Called repeatedly while the terminal accepts no output; nil means no deadline.
    /// - Returns: 0, or the reason why not everything was written: `EAGAIN` after the deadline.
    @discardableResult
    public func write(_ bytes: some Sequence<UInt8>, until deadline: () -> ContinuousClock.Instant?) -> Int32 {
        var bytes = Array(bytes)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(target, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
                continue
            }
            guard count < 0, errno == EINTR || errno == EAGAIN else { return count < 0 ? errno : EIO }
            if let deadline = deadline(), deadline <= .now { return EAGAIN }
            var wanted = pollfd(fd: target, events: Int16(POLLOUT), revents: 0)
            _ = poll(&wanted, 1, 50)
        }
        return 0
    }
}
