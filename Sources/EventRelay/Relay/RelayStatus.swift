import Basics
import CurlTransport
public import Foundation
import JSONBytes
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
        /// All that it had received before then is in the stream, on its own clock.
        public let settled: Date?
        /// Tells relays with other units apart.
        public let units: String
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

    /// Those that have written heartbeats, newest heartbeat first.
    public let relays: [Relay]
    /// Slots that nobody owns, though somebody has.
    public let freeSlots: [Slot]
    /// Nil if there is none.
    public let stream: Stream?

    /// Reads the records once.
    ///
    /// - Parameter options: Servers, and the names of stream and bucket.
    /// - Throws: `NATSError`.
    public init(_ options: EventRelayOptions) async throws {
        try options.validate()
        let connection = NATSConnection(options.nats)
        try await connection.connect()
        defer { connection.close() }
        let prefix = "$KV.\(options.bucket)."
        let records = try await Self.records(connection, "KV_" + options.bucket, filter: prefix + ">")
        var (owned, free): ([String: [Slot]], [Slot]) = ([:], [])
        var heartbeats: [(id: String, heartbeat: Heartbeat, time: Date)] = []
        for record in records where record.subject.hasPrefix(prefix) {
            let key = record.subject.dropFirst(prefix.count)
            let time = Date(timeIntervalSince1970: Double(record.time) / 1e9)
            guard let json = JSONView(record.payload) else { continue }
            if key.hasPrefix("h."), let heartbeat = Heartbeat(json) {
                heartbeats.append((String(key.dropFirst(2)), heartbeat, time))
            } else if key.hasPrefix("s."), let number = Int(key.dropFirst(2)), let slot = SlotRecord(json) {
                let own = Slot(number: number, term: slot.term, since: time)
                if let owner = slot.owner { owned["\(owner)", default: []].append(own) } else { free.append(own) }
            }
        }
        relays = heartbeats.sorted { $0.time > $1.time }.map { id, heartbeat, time in
            Relay(
                id: id, lastHeartbeat: time, losses: heartbeat.incarnation - 1, isLeaving: heartbeat.isLeaving,
                settled: heartbeat.settled.map { Date(timeIntervalSince1970: Double($0) / 1000) },
                units: heartbeat.units, slots: (owned[id] ?? []).sorted { $0.number < $1.number })
        }
        freeSlots = free.sorted { $0.number < $1.number }
        stream = try await connection.streamStatus(options.stream).map { status in
            Stream(
                messages: status.messages, bytes: status.bytes, maximumBytes: status.settings.maximumBytes,
                lastSequence: status.lastSequence, leader: status.leader)
        }
    }

    private static func records(
        _ connection: NATSConnection, _ stream: String, filter: String
    ) async throws(NATSError) -> [RecordWatch.Record] {
        guard try await connection.streamStatus(stream) != nil else {
            throw NATSError(.notFound, "there is no stream \(stream): set it up first")
        }
        let (news, continuation) = AsyncStream.makeStream(of: RecordWatch.News.self)
        let watch = RecordWatch(connection, stream: stream, filter: filter) { continuation.yield($0) }
        watch.start()
        defer { watch.close() }
        var records: [RecordWatch.Record] = []
        for await news in news {
            switch news {
            case .records(let new): records += new
            case .complete: return records
            case .failed(let error, let willRetry): if !willRetry { throw error }
            }
        }
        throw NATSError(.timeout, "the read of \(stream) was cancelled")
    }
}
