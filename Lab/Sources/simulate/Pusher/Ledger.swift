import Basics
import PusherProtocol
import Realtime
import Transport

/// What the client has ordered and told so far, as far as the invariants need it.
struct Ledger {
    var state = ConnectionState.disconnected
    /// Since the last change of state.
    var connectionErrors = 0
    /// The same, of `pusher:error` with a code that a close may repeat.
    var announcements = 0
    /// Of the last of them; a close right after it is not reported once more.
    var announcedCode: Int?
    var isLastFrameAnError = false
    /// Received, and not told yet: neither by themselves nor with a close.
    var untoldErrors = 0
    /// The application has asked to end what there is.
    var isEndAsked = false
    /// The client is shut down, and what was on its way then is done.
    var isEndCarriedOut = false
    /// The client has given up, and may.
    var hasStopped = false
    /// The retry that was announced must not come before.
    var retryDue: MonotonicInstant?
    var lastURL = ""
    var connectedAt: MonotonicInstant?
    var failures = FailureBounds()

    /// Attempts to subscribe, by channel name, and those that were reported as failed.
    var attempts: [String: Int] = [:]
    private var failedAttempts: [String: Int] = [:]
    private(set) var areFailuresPlausible = true
    var failedSubscriptions: Set<EventRouter.ChannelID> = []
    /// Of readers that were reported as too slow, those that still are.
    var reportedHolds = 0
    var undecryptable = 0
    var undecryptableErrors = 0
    var malformedMessages = 0
    var malformedErrors = 0
    /// By channel, of the one sent last.
    var clientEvents: [String: Int] = [:]
    var clientEventTimes: [MonotonicInstant] = []

    mutating func connectAsked() {
        retryDue = nil
        failures.connectAsked()
        hasStopped = false
    }

    /// The network is said to have returned: the next attempt need not wait.
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
