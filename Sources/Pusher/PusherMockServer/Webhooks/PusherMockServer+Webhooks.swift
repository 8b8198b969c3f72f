extension PusherMockServer {
    /// The receiver of an application's channel events.
    public struct Webhooks: Hashable, Sendable {
        /// The `http` or `https` URL to post every event to. If `nil`, events are only logged, as
        /// ``LogEntry/webhook(event:app:)``.
        public var url: String?
        /// Whether to send all waiting events in one request. Otherwise each has its own request.
        public var isBatching: Bool
        /// The time for which a departure is held back; a return within it cancels both.
        public var departureDelay: Duration
        /// The delay before a failed request is retried. It doubles each time; after five minutes the request is
        /// discarded. Later requests don't wait for it, so a retry may arrive out of order, as its `time_ms` shows.
        public var retryDelay: Duration

        /// Creates webhooks. By default: single events, departures after 3 s, the first retry after 1 s.
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
