package import Basics
import CurlTransport
import PusherProtocol

extension Pusher {
    /// See `ClientMachine.completeUntil`.
    package var completeUntil: MonotonicInstant? { core.peek { $0.completeUntil } }
}
