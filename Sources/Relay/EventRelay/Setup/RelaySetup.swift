import Basics

/// What relays and consumers need: a stream for events, a bucket for what relays know of each other, and a stream for dead letters.
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

    /// The stream of dead letters. Default: `DEAD`.
    public var deadLetterStream = "DEAD"
    /// What its subjects begin with: ``EventConsumerOptions/deadLetterPrefix``. Default: `dead`.
    public var deadLetterPrefix = "dead"
    /// Bytes that dead letters may take; never more than ``maximumBytes``. A stream that exists keeps what it has: others may
    /// share it. Default: 256 MiB.
    public var maximumDeadLetterBytes: Int64 = 256 << 20

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
        let sharedBytes = try await connection.streamStatus(deadLetterStream)?.settings.maximumBytes
        let deadLetters = StreamSettings.deadLetters(
            name: deadLetterStream, prefix: deadLetterPrefix, replicas: replicas,
            maximumBytes: sharedBytes ?? min(maximumDeadLetterBytes, maximumBytes))
        for settings in [events, .records(bucket: options.bucket, replicas: replicas), deadLetters] {
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

    /// Removes the heartbeats of processes that ended long ago: that are an hour older than the newest one of the bucket, and own
    /// nothing. A heartbeat that is written meanwhile stays.
    ///
    /// - Parameter options: Servers, and the name of the bucket.
    /// - Returns: How many there were.
    /// - Throws: `NATSError`. It takes permissions that creating the streams does not.
    public func removeDeadRelays(_ options: EventRelayOptions) async throws -> Int {
        try options.validate()
        let connection = NATSConnection(options.nats)
        try await connection.connect()
        defer { connection.close() }
        let records = try await RelayRecords(connection, bucket: options.bucket)
        let dead = records.deadHeartbeats
        for heartbeat in dead {
            try await connection.purge(heartbeat.subject, upTo: heartbeat.revision, of: "KV_" + options.bucket)
        }
        return dead.count
    }
}
