import Basics
import CommandKit

/// What has happened in a load test so far.
struct LoadCounts: Sendable {
    enum Phase: String {
        case connecting
        case warmUp = "warm_up"
        case measuring
        /// All is sent; some of it is still on the way.
        case draining
    }

    var phase = Phase.connecting
    /// When the first event that counts was due, and when the last had been sent.
    var began: MonotonicInstant?
    var ended: MonotonicInstant?
    var lastDelivery: MonotonicInstant?
    /// The first thing that went wrong while connecting and is not tried again.
    var failure: (any ReportableError)?

    /// Connections that are up now.
    var connected = 0
    /// Subscriptions that were confirmed for the first time.
    var subscribed = 0
    /// Events that the server has accepted.
    var published = 0
    /// Events that the server did not take, or never answered for.
    var failed = 0
    /// Events that were due and not sent before the end.
    var unsent = 0
    /// Deliveries that the published events should bring.
    var expected = 0
    /// Events that have arrived, each counted once at each connection.
    var delivered = 0
    var duplicates = 0
    /// Events that arrived after a later one of their channel.
    var outOfOrder = 0
    /// Errors that connections or the HTTP API have told.
    var errors = 0
    /// Connections that were lost and came back.
    var reconnects = 0

    /// From the moment at which an event was meant to be sent to the callback that got it.
    var latency = LatencyHistogram()
    /// From the beginning of the connection to `pusher:connection_established`.
    var connecting = LatencyHistogram()
    /// From there to the confirmation of each subscription.
    var subscribing = LatencyHistogram()
    /// What the HTTP API took to answer.
    var requests = LatencyHistogram()
    /// How much later than meant the events were sent.
    var delay = LatencyHistogram()

    var lost: Int { max(expected - delivered, 0) }

    /// From the beginning of the measurement to its end, or to `now` while it goes on.
    func publishing(at now: MonotonicInstant) -> Duration {
        began.map { (ended ?? now) - $0 } ?? .zero
    }

    /// The same, and on to the last delivery.
    func elapsed(at now: MonotonicInstant) -> Duration {
        guard let began else { return .zero }
        guard let ended else { return now - began }
        return max(ended, lastDelivery ?? ended) - began
    }
}
