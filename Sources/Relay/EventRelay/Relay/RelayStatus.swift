public import Foundation
import RelayProtocol

/// Who relays what, as the records say.
public struct RelayStatus: Sendable {
    /// One process.
    public struct Relay: Sendable {
        /// Its name, and random digits.
        public let id: String
        /// When its newest heartbeat was stored, on the server's clock.
        public let lastHeartbeat: Date
        /// How often it has lost what it had.
        public let losses: Int
        /// It gives back what it has.
        public let isLeaving: Bool
        /// All that it had received before then is in the stream, on its own clock; nil if that is not known of one of its slots.
        public let settled: Date?
        /// Tells relays with other units apart.
        public let units: String
        /// After how much silence others take what it has.
        public let observerWait: Duration
        /// The slots that its records say it owns, with their terms, and since when.
        public let slots: [Slot]
    }

    /// One part of the work.
    public struct Slot: Sendable {
        /// 0 to 1023.
        public let number: Int
        /// Grows with each owner.
        public let term: Int
        /// When the record was stored, on the server's clock.
        public let since: Date
    }

    /// The stream of events.
    public struct Stream: Sendable {
        /// Events and records of relays in it.
        public let messages: UInt64
        /// What they take.
        public let bytes: UInt64
        /// How much it may take.
        public let maximumBytes: Int64
        /// The number of the newest message; the numbers grow by one.
        public let lastSequence: UInt64
        /// The server that leads; nil without a cluster, or without a leader.
        public let leader: String?
    }

    /// Those that have written a heartbeat in the last hour or own something, newest heartbeat first.
    public let relays: [Relay]
    /// Slots that nobody owns, though somebody has.
    public let freeSlots: [Slot]
    /// Heartbeats and slots of the bucket that no relay wrote, or that are damaged.
    public let unreadableRecords: Int
    /// Nil if there is none.
    public let stream: Stream?

    /// Reads the records once.
    ///
    /// - Parameter options: Servers, and the names of stream and bucket.
    /// - Throws: `NATSError`; within some seconds if the bucket cannot be read.
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
