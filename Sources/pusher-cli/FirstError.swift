import PusherSwift
import Basics

/// Keeps the first thing that went wrong with a client and is not tried again.
final class FirstError: PusherDelegate {
    private let first = Lock<PusherError?>(nil)

    var error: PusherError? { first.withLock { $0 } }

    func receivedError(error: PusherError) {
        if !error.willRetry { first.withLock { $0 = $0 ?? error } }
    }
}
