import Basics
package import Foundation
package import PusherSwift

/// Collects the errors of a client, for the message if it fails.
package final class Trouble: PusherDelegate {
    private struct State {
        var first: PusherError?
        var last: PusherError?
    }

    private let state = Lock(State())

    package init(of pusher: Pusher) {
        pusher.delegate = self
    }

    /// The first error that is not retried.
    package var first: PusherError? { state.withLock { $0.first } }

    /// The latest error.
    package var last: PusherError? { state.withLock { $0.last } }

    /// Returns the error for a subscription that timed out.
    package func giveUp(_ channel: String, of pusher: Pusher, after seconds: Double) -> CommandFailure {
        let isConnected = pusher.connection.connectionState == .connected
        let what = isConnected ? "\(channel) was not subscribed" : "no connection"
        let reason = last?.message ?? (isConnected ? "the server did not answer the subscription" : "")
        return CommandFailure(
            .unavailable, "\(what) within \(Seconds.text(seconds))" + (reason.isEmpty ? "" : ": \(reason)"))
    }

    package func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        if new == .connected { state.withLock { $0.last = nil } }
    }

    package func receivedError(error: PusherError) {
        if error.explainsWait { StatusLine.explainWait("\(Complaint.text(error))") }
        state.withLock { state in
            if error.explainsWait { state.last = error }
            if !error.willRetry { state.first = state.first ?? error }
        }
    }

    package func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        guard let error = error?.userInfo[NSUnderlyingErrorKey] as? PusherError else { return }
        state.withLock { $0.last = error }
    }
}

extension PusherError {
    /// Whether the error may be the reason why a connection or subscription is pending, rather than an unrelated
    /// notice.
    package var explainsWait: Bool {
        switch kind {
        case .couldNotConnect, .connectionLost, .closedByServer, .serverError, .authorizationFailed,
            .subscriptionFailed,
            .sourceFailed, .invalidArgument:
            true
        case .malformedMessage, .unknownChannel, .decryptionFailed, .clientEventRejected, .undecodableData,
            .bufferOverflow, .readingHeld, .readingResumed:
            false
        }
    }
}
