import Basics
import CommandKit

/// The counts of a load test so far.
struct LoadCounts: Sendable {
    enum Phase: String {
        case connecting
        case warmUp = "warm_up"
        case measuring
        /// All events are sent; some have not arrived yet.
        case draining
    }

    var phase = Phase.connecting
    /// The times at which the first counted event was due and the last one had been sent.
    var began: MonotonicInstant?
    var ended: MonotonicInstant?
    var lastDelivery: MonotonicInstant?
    /// The first error of connecting that is not retried.
    var failure: (any ReportableError)?

    /// The number of open connections.
    var connected = 0
    /// The number of subscriptions confirmed for the first time.
    var subscribed = 0
    /// The number of events that the server accepted.
    var published = 0
    /// The number of events that the server rejected or never answered.
    var failed = 0
    /// The number of events that were due but not sent before the end.
    var unsent = 0
    /// The number of deliveries expected for the published events.
    var expected = 0
    /// The number of events that arrived, counted once per connection.
    var delivered = 0
    var duplicates = 0
    /// The number of events that arrived after a later one of their channel.
    var outOfOrder = 0
    /// The number of errors reported by connections or the HTTP API.
    var errors = 0
    /// The number of lost connections that were re-established.
    var reconnects = 0

    /// The time from the scheduled sending of an event to the callback that received it.
    var latency = LatencyHistogram()
    /// The time from the start of a connection to `pusher:connection_established`.
    var connecting = LatencyHistogram()
    /// The time from there to the confirmation of each subscription.
    var subscribing = LatencyHistogram()
    /// The response time of the HTTP API.
    var requests = LatencyHistogram()
    /// The delay of sending compared to the schedule.
    var delay = LatencyHistogram()

    var lost: Int { max(expected - delivered, 0) }

    /// Returns the duration of the measurement, up to its end or `now`.
    func publishing(at now: MonotonicInstant) -> Duration {
        began.map { (ended ?? now) - $0 } ?? .zero
    }

    /// Returns the duration up to the last delivery.
    func elapsed(at now: MonotonicInstant) -> Duration {
        guard let began else { return .zero }
        guard let ended else { return now - began }
        return max(ended, lastDelivery ?? ended) - began
    }
}
