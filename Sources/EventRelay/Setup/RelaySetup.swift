import Basics

/// What relays need: a stream for events, and a bucket for what relays know of each other.
public struct RelaySetup: Sendable {
    /// How many servers keep each message: three in a cluster, or one. Default: 1.
    public var replicas = 1
    /// Bytes that the stream may take; what does not fit is refused, and relays stop reading. The streams of a server must stay
    /// below its own limit, which it does not survive. Default: 1 GiB.
    public var maximumBytes: Int64 = 1 << 30
    /// How long events stay. Default: 7 days.
    public var maximumAge = Duration.seconds(7 * 86_400)
    /// Whether the oldest events give way when the stream is full, read or not. Default: no.
    public var discardsOldest = false

    /// See the properties.
    public init() {}

    /// What has come of one stream.
    public struct Result: Hashable, Sendable {
        /// What was found.
        public enum Outcome: Hashable, Sendable {
            /// It is new.
            case created
            /// It was there, with these settings.
            case existed
            /// It was there with other settings, and is left as it is; how they differ.
            case differs([String])
        }

        /// The stream's name.
        public let stream: String
        /// What was found.
        public let outcome: Outcome
    }

    /// Creates what is missing. What exists is never changed.
    ///
    /// - Parameter options: Servers, and the names of stream, bucket and prefix.
    /// - Throws: `NATSError`.
    public func run(_ options: EventRelayOptions) async throws -> [Result] {
        try options.validate()
        let connection = NATSConnection(options.nats)
        try await connection.connect()
        defer { connection.close() }
        var events = StreamSettings.events(
            name: options.stream, prefix: options.prefix, replicas: replicas, maximumBytes: maximumBytes,
            maximumAge: maximumAge)
        events.discard = discardsOldest ? .old : .new
        var results: [Result] = []
        for settings in [events, .records(bucket: options.bucket, replicas: replicas)] {
            let outcome: Result.Outcome =
                switch try await connection.setUp(settings) {
                case .created: .created
                case .existed: .existed
                case .differs(let differences): .differs(differences)
                }
            results.append(Result(stream: settings.name, outcome: outcome))
        }
        return results
    }
}
