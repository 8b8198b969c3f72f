import Basics
import Glibc
import NIOCore

/// Tells the server's core when connections cannot be accepted. `AcceptBackoffHandler` before it makes the pause.
final class AcceptWatch: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let core: ServerCore

    init(core: ServerCore) {
        self.core = core
    }

    /// How long no connection is accepted after this error; nil if only the one connection is gone.
    static func pause(after error: IOError) -> TimeAmount? {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) ? .seconds(1) : nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, Self.pause(after: error) != nil { core.acceptFailed(error) }
        context.fireErrorCaught(error)
    }
}

/// Attempts to accept fail each second for as long as their cause lasts.
struct AcceptFailures {
    private static let pause = Duration.seconds(60)

    private var lastTold: MonotonicInstant?

    mutating func isWorthTelling(now: MonotonicInstant) -> Bool {
        if let lastTold, now - lastTold < Self.pause { return false }
        lastTold = now
        return true
    }
}
