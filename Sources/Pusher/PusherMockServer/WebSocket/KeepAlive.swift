import Basics

/// Decides when the server pings a silent client, and when it gives up. Pusher protocol, "Ping and pong messages".
struct KeepAlive {
    enum Action: Hashable {
        case wait(Duration)
        /// Send a ping, then check again after this duration.
        case ping(Duration)
        /// Close with 4201.
        case giveUp
    }

    /// The shortest silence to check for: a time of zero must not keep the event loop busy.
    private static let shortestSilence = Duration.milliseconds(10)

    private let pingAfter: Duration
    private let pongTimeout: Duration
    private var lastActivity: MonotonicInstant
    private var pingedAt: MonotonicInstant?

    init(pingAfter: Duration, pongTimeout: Duration, now: MonotonicInstant) {
        self.pingAfter = max(pingAfter, Self.shortestSilence)
        self.pongTimeout = pongTimeout
        lastActivity = now
    }

    /// Records a frame. Any frame proves that the client is alive.
    mutating func frameReceived(now: MonotonicInstant) {
        lastActivity = now
        pingedAt = nil
    }

    mutating func timerFired(now: MonotonicInstant) -> Action {
        if let pingedAt {
            let left = pongTimeout - (now - pingedAt)
            // No longer than that: if the client answers, the timer is needed for the next silence.
            return left > .zero ? .wait(min(left, pingAfter)) : .giveUp
        }
        let left = pingAfter - (now - lastActivity)
        guard left <= .zero else { return .wait(left) }
        pingedAt = now
        return .ping(min(max(pongTimeout, Self.shortestSilence), pingAfter))
    }
}
