import Basics
import PusherProtocol
import Realtime
import Transport

/// The client's orders and notices so far, as needed by the invariants.
struct Ledger {
    var state = ConnectionState.disconnected
    /// The number since the last change of state.
    var connectionErrors = 0
    /// Like `connectionErrors`, but of `pusher:error` with a code that a close may repeat.
    var announcements = 0
    /// The code of the last announcement; a close right after it is not reported again.
    var announcedCode: Int?
    var isLastFrameAnError = false
    /// Received errors that are not reported yet, neither by themselves nor with a close.
    var untoldErrors = 0
    /// Whether the application has asked to end the connection.
    var isEndAsked = false
    /// Whether the client is shut down, with all earlier work done.
    var isEndCarriedOut = false
    /// Whether the client has given up for a valid reason.
    var hasStopped = false
    /// The earliest time for the announced retry.
    var retryDue: MonotonicInstant?
    var lastURL = ""
    var connectedAt: MonotonicInstant?
    var failures = FailureBounds()

    /// Subscription attempts by channel name, and those that were reported as failed.
    var attempts: [String: Int] = [:]
    private var failedAttempts: [String: Int] = [:]
    private(set) var areFailuresPlausible = true
    var failedSubscriptions: Set<EventRouter.ChannelID> = []
    /// The number of readers reported as too slow that still are.
    var reportedHolds = 0
    var undecryptable = 0
    var undecryptableErrors = 0
    var malformedMessages = 0
    var malformedErrors = 0
    /// By channel, the number of the last event sent.
    var clientEvents: [String: Int] = [:]
    var clientEventTimes: [MonotonicInstant] = []

    mutating func connectAsked() {
        retryDue = nil
        failures.connectAsked()
        hasStopped = false
    }

    /// The network was reported as back: the next attempt need not wait.
    mutating func hinted() {
        retryDue = nil
    }

    mutating func failed(_ channel: String) {
        failedAttempts[channel, default: 0] += 1
        if failedAttempts[channel] ?? 0 > attempts[channel] ?? 0 { areFailuresPlausible = false }
    }

    static func isLegal(_ old: ConnectionState, _ new: ConnectionState) -> Bool {
        switch old {
        case .disconnected: new == .connecting
        case .connecting: new == .connected || new == .reconnecting || new == .disconnected
        case .connected: new == .reconnecting || new == .disconnecting || new == .disconnected
        case .disconnecting: new == .disconnected
        case .reconnecting: new == .connecting || new == .disconnected
        }
    }

    /// Pusher protocol, "Connection closure".
    static func forbidsRetry(_ code: Int, usesTLS: Bool) -> Bool {
        code == 4000 && usesTLS || (4001...4099).contains(code) || code >= 4300
    }
}
