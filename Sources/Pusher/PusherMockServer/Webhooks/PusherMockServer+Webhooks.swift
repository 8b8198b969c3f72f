extension PusherMockServer {
    /// Whom an application tells what happens to its channels.
    public struct Webhooks: Hashable, Sendable {
        /// `http` or `https`; every event is posted there. Nil: events are only logged, as ``LogEntry/webhook(event:app:)``.
        public var url: String?
        /// Puts all events that wait into one request. Otherwise each is a request of its own.
        public var isBatching: Bool
        /// How long a departure waits for a return, with which nothing has happened.
        public var departureDelay: Duration
        /// Pause before a request that failed is repeated; it doubles each time, and after five minutes the request is
        /// given up. Later requests don't wait for it, so a repeated one may arrive out of order; their `time_ms` tells.
        public var retryDelay: Duration

        /// Single events, departures after 3 s, the first repetition after 1 s.
        public init(
            url: String? = nil, isBatching: Bool = false, departureDelay: Duration = .seconds(3),
            retryDelay: Duration = .seconds(1)
        ) {
            self.url = url
            self.isBatching = isBatching
            self.departureDelay = departureDelay
            self.retryDelay = retryDelay
        }
    }
}
