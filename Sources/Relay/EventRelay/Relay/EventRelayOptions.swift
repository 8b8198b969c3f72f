public import Logging
import RelayProtocol

/// How an ``EventRelay`` behaves.
public struct EventRelayOptions: Sendable {
    /// The servers.
    public var nats: NATSOptions
    /// What this relay is called. It stays the same when the process starts again: slots go by it. Default: the host's name.
    public var name: String
    /// The stream of the events. Default: `EVENTS`.
    public var stream = "EVENTS"
    /// The bucket of heartbeats, slots and positions, which only relays of the same units share. Default: `RELAY`.
    public var bucket = "RELAY"
    /// What the subjects of the stream begin with. Default: `ev`.
    public var prefix = "ev"
    /// How often a relay shows that it lives. Default: 3 s.
    public var heartbeatInterval = Duration.seconds(3)
    /// After how long without an acknowledged heartbeat it gives up what it owns. An election of a server takes up to 11 s: with
    /// less, everything is given up at each. Default: 15 s.
    public var holderLimit = Duration.seconds(15)
    /// After how long others take what it owned. More than `holderLimit` by what clocks may differ in speed, and a margin.
    /// Of two relays with different times, the longer one counts. Default: 20 s, at most 1 h.
    public var observerWait = Duration.seconds(20)
    /// Messages on their way to the stream. Default: 512.
    public var maximumFlight = 512
    /// Bytes that wait for the stream; then sources are read no more. Default: 16 MiB.
    public var maximumWaitingBytes = 16 << 20
    /// Where what happens is logged.
    public var logger: Logger?

    /// - Parameters:
    ///   - nats: The servers.
    ///   - name: Nil for the host's name.
    public init(_ nats: NATSOptions, name: String? = nil) {
        self.nats = nats
        self.name = name ?? HostName.current
    }

    var limits: Outbox.Limits {
        var limits = Outbox.Limits()
        limits.flight = max(maximumFlight, 1)
        limits.waitingBytes = max(maximumWaitingBytes, 1)
        return limits
    }

    func ownership(_ relay: RelayID, units: [String]) -> OwnershipMachine.Configuration {
        var configuration = OwnershipMachine.Configuration(
            relay: relay, slots: RelayMachine.slots(of: units))
        configuration.units = UnitsDigest.of(units)
        (configuration.heartbeatInterval, configuration.holderLimit) = (heartbeatInterval, holderLimit)
        configuration.observerWait = observerWait
        configuration.startPause = heartbeatInterval / 3
        return configuration
    }

    func validate() throws(NATSError) {
        func require(_ isTrue: Bool, _ text: String) throws(NATSError) {
            if !isTrue { throw NATSError(.invalidArgument, text) }
        }
        try require(!name.isEmpty && name.utf8.count <= 64, "a relay's name has 1 to 64 bytes")
        try require(
            NATSSubject.isToken(stream) && NATSSubject.isToken(bucket),
            "streams and buckets are named with letters, digits, - and _")
        try require(NATSSubject.isToken(prefix) && prefix != "$KV", "a prefix is letters, digits, - and _")
        try require(
            heartbeatInterval >= .milliseconds(100) && heartbeatInterval * 3 <= holderLimit,
            "three heartbeats must fit into the holder's limit")
        try require(
            observerWait >= holderLimit * 1.05,
            "others must wait longer than the holder's limit, by a twentieth at least")
        try require(observerWait <= .seconds(3600), "others wait for an hour at most")
    }
}
