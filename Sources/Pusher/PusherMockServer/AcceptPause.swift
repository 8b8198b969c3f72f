import Basics
import Glibc
package import NIOCore

/// Pauses a server's accepting for a second when there is no room for another connection.
///
/// Otherwise NIO would retry continuously. `AcceptBackoffHandler` does not help: a listener whose attempt failed keeps
/// its read pending and so stays interested in the descriptor, which is always ready.
package final class AcceptPause: ChannelInboundHandler {
    package typealias InboundIn = any Channel

    private static let length = TimeAmount.seconds(1)

    private let onPause: (IOError) -> Void

    /// - Parameter onPause: Called on the listener's event loop at each pause.
    package init(_ onPause: @escaping (IOError) -> Void = { _ in }) {
        self.onPause = onPause
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            let listener = context.channel
            try? listener.syncOptions?.setOption(.autoRead, value: false)
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.length) {
                try? listener.syncOptions?.setOption(.autoRead, value: true)  // unless it has closed
            }
            onPause(error)
        }
        context.fireErrorCaught(error)
    }
}

/// Failures to accept, which repeat each second while their cause lasts.
struct AcceptFailures {
    private static let pause = Duration.seconds(60)

    private var lastTold: MonotonicInstant?

    mutating func isWorthTelling(now: MonotonicInstant) -> Bool {
        if let lastTold, now - lastTold < Self.pause { return false }
        lastTold = now
        return true
    }
}
