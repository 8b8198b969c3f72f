import Basics

/// The setup for relays and consumers: a stream for events, a bucket for the records of relays, and a stream for dead
/// letters.
public struct RelaySetup: Sendable {
    /// The number of replicas of each message: 3 in a cluster, or 1. Default: 1.
    public var replicas = 1
    /// The maximum size of the stream in bytes. When it is full, messages are refused and relays stop reading. Keep the
    /// streams of a server below its own limit, which it does not survive. Default: 1 GiB.
    public var maximumBytes: Int64 = 1 << 30
    /// The time to keep events. Default: 7 days.
    public var maximumAge = Duration.seconds(7 * 86_400)
    /// Whether to discard the oldest events when the stream is full, even unread ones. Default: no.
    public var discardsOldest = false

    /// The stream of dead letters. Default: `DEAD`.
    public var deadLetterStream = "DEAD"
    /// The prefix of its subjects: ``EventConsumerOptions/deadLetterPrefix``. Default: `dead`.
    public var deadLetterPrefix = "dead"
    /// The maximum size of dead letters in bytes; never more than ``maximumBytes``. An existing stream keeps its limit,
    /// because others may share it. Default: 256 MiB.
    public var maximumDeadLetterBytes: Int64 = 256 << 20

    /// Creates a setup with the defaults.
    public init() {}

    /// The result for one stream.
    public struct Result: Hashable, Sendable {
        /// The state in which a stream was found.
        public enum Outcome: Hashable, Sendable {
            /// It was created.
            case created
            /// It existed with these settings.
            case existed
            /// It existed with other settings and was left unchanged; contains the differences.
            case differs([String])
        }

        /// The stream's name.
        public let stream: String
        /// The state in which it was found.
        public let outcome: Outcome
    }

    /// Creates what is missing. Never changes what exists.
    ///
    /// - Parameter options: The servers, and the names of stream, bucket and prefix.
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

    /// Removes the heartbeats of processes that ended long ago: those that are an hour older than the newest one in the
    /// bucket and own nothing. A heartbeat that is written meanwhile stays.
    ///
    /// - Parameter options: The servers, and the name of the bucket.
    /// - Returns: The number of removed heartbeats.
    /// - Throws: `NATSError`. This requires permissions that creating the streams does not.
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
