import Basics
import PusherSwift

/// What goes wrong with a client, for the message in case nothing comes of it.
final class Trouble: PusherDelegate {
    private struct State {
        var first: PusherError?
        var last: PusherError?
    }

    private let state = Lock(State())

    init(of pusher: Pusher) {
        pusher.delegate = self
    }

    /// The first that is not tried again.
    var first: PusherError? { state.withLock { $0.first } }

    /// The newest of all.
    var last: PusherError? { state.withLock { $0.last } }

    func receivedError(error: PusherError) {
        StatusLine.explainWait("\(Complaint.text(error))")
        state.withLock { state in
            state.last = error
            if !error.willRetry { state.first = state.first ?? error }
        }
    }
}
