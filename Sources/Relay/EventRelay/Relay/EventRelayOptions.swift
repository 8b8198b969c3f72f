public import Logging
import RelayProtocol

/// Options for an ``EventRelay``.
public struct EventRelayOptions: Sendable {
    /// The servers.
    public var nats: NATSOptions
    /// The name of this relay. It must stay the same across restarts, because slots are assigned by it. Default: the
    /// host's name.
    public var name: String
    /// The stream of the events. Default: `EVENTS`.
    public var stream = "EVENTS"
    /// The bucket for heartbeats, slots and positions. Only relays with the same units may share it. Default: `RELAY`.
    public var bucket = "RELAY"
    /// The prefix of the stream's subjects. Default: `ev`.
    public var prefix = "ev"
    /// The interval between heartbeats. Default: 3 s.
    public var heartbeatInterval = Duration.seconds(3)
    /// The time without an acknowledged heartbeat after which it gives up what it owns. An election of a server takes
    /// up to 11 s; with a lower value, each election makes it give up everything. Default: 15 s.
    public var holderLimit = Duration.seconds(15)
    /// The time after which others take over what it owned. Must exceed `holderLimit` by the possible drift between
    /// clocks and a margin. For two relays with different values, the longer one applies. Default: 20 s, at most 1 h.
    public var observerWait = Duration.seconds(20)
    /// The maximum number of pending messages to the stream. Default: 512.
    public var maximumFlight = 512
    /// The number of bytes waiting for the stream above which sources are not read. Default: 16 MiB.
    public var maximumWaitingBytes = 16 << 20
    /// The logger for reports.
    public var logger: Logger?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - nats: The servers.
    ///   - name: The relay's name, or nil for the host's name.
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
