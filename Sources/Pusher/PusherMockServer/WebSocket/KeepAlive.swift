import Basics

/// When the server pings a silent client, and when it gives up on it. Pusher protocol, "Ping and pong messages".
struct KeepAlive {
    enum Action: Hashable {
        case wait(Duration)
        /// Send a ping, then ask again after this long.
        case ping(Duration)
        /// Close with 4201.
        case giveUp
    }

    /// The shortest silence that is looked for: a time of zero must not keep the event loop busy.
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

    /// Any frame proves the client alive.
    mutating func frameReceived(now: MonotonicInstant) {
        lastActivity = now
        pingedAt = nil
    }

    mutating func timerFired(now: MonotonicInstant) -> Action {
        if let pingedAt {
            let left = pongTimeout - (now - pingedAt)
            // Not longer than that: should the client answer, the timer has to be there for the next silence.
            return left > .zero ? .wait(min(left, pingAfter)) : .giveUp
        }
        let left = pingAfter - (now - lastActivity)
        guard left <= .zero else { return .wait(left) }
        pingedAt = now
        return .ping(min(max(pongTimeout, Self.shortestSilence), pingAfter))
    }
}
