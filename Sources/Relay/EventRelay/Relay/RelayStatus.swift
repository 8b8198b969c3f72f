public import Foundation
import RelayProtocol

/// The distribution of work among relays, according to the records.
public struct RelayStatus: Sendable {
    /// A relay process.
    public struct Relay: Sendable {
        /// Its name and random digits.
        public let id: String
        /// The time at which its newest heartbeat was stored, on the server's clock.
        public let lastHeartbeat: Date
        /// The number of times it lost what it owned.
        public let losses: Int
        /// Whether it is giving back what it owns.
        public let isLeaving: Bool
        /// The time, on its own clock, up to which everything it received is in the stream; nil if unknown for one of
        /// its slots.
        public let settled: Date?
        /// A value that differs between relays with different units.
        public let units: String
        /// The duration of silence after which others take what it owns.
        public let observerWait: Duration
        /// The slots that it owns according to the records, with their terms and start times.
        public let slots: [Slot]
    }

    /// A part of the work.
    public struct Slot: Sendable {
        /// The number, from 0 to 1023.
        public let number: Int
        /// The term, which grows with each owner.
        public let term: Int
        /// The time at which the record was stored, on the server's clock.
        public let since: Date
    }

    /// The stream of events.
    public struct Stream: Sendable {
        /// The number of events and relay records in it.
        public let messages: UInt64
        /// Their size in bytes.
        public let bytes: UInt64
        /// The maximum size in bytes.
        public let maximumBytes: Int64
        /// The sequence number of the newest message. Numbers grow by one.
        public let lastSequence: UInt64
        /// The leading server; nil without a cluster or a leader.
        public let leader: String?
    }

    /// The relays that wrote a heartbeat in the last hour or own a slot, newest heartbeat first.
    public let relays: [Relay]
    /// Slots that have no owner but had one before.
    public let freeSlots: [Slot]
    /// The number of heartbeats and slot records in the bucket that are damaged or not from a relay.
    public let unreadableRecords: Int
    /// The stream; nil if it does not exist.
    public let stream: Stream?

    /// Reads the records once.
    ///
    /// - Parameter options: The servers, and the names of stream and bucket.
    /// - Throws: `NATSError`, within a few seconds if the bucket cannot be read.
    public init(_ options: EventRelayOptions) async throws {
        try options.validate()
        let connection = NATSConnection(options.nats)
        try await connection.connect()
        defer { connection.close() }
        let records = try await RelayRecords(connection, bucket: options.bucket)
        var (owned, free): ([RelayID: [Slot]], [Slot]) = ([:], [])
        for (slot, record, time) in records.slots {
            let own = Slot(number: slot.number, term: record.term, since: time)
            if let owner = record.owner { owned[owner, default: []].append(own) } else { free.append(own) }
        }
        relays = records.beats.sorted { $0.time > $1.time }.map { beat in
            let heartbeat = beat.heartbeat
            return Relay(
                id: "\(beat.relay)", lastHeartbeat: beat.time, losses: heartbeat.incarnation - 1,
                isLeaving: heartbeat.isLeaving,
                settled: heartbeat.settled.flatMap { $0 > 0 ? Date(timeIntervalSince1970: Double($0) / 1000) : nil },
                units: heartbeat.units, observerWait: heartbeat.observerWait,
                slots: (owned[beat.relay] ?? []).sorted { $0.number < $1.number })
        }.filter { !$0.slots.isEmpty || -$0.lastHeartbeat.timeIntervalSinceNow < RelayRecords.memory }
        unreadableRecords = records.unreadable
        freeSlots = free.sorted { $0.number < $1.number }
        stream = try await connection.streamStatus(options.stream).map { status in
            Stream(
                messages: status.messages, bytes: status.bytes, maximumBytes: status.settings.maximumBytes,
                lastSequence: status.lastSequence, leader: status.leader)
        }
    }
}
