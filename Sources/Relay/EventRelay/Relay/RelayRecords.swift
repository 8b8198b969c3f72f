import Foundation
import JSONBytes
import RelayProtocol

struct RelayRecords: Sendable {
    struct Beat: Sendable {
        let relay: RelayID
        let heartbeat: Heartbeat
        let time: Date
        let subject: String
        let revision: UInt64
    }

    var beats: [Beat] = []
    var slots: [(slot: Slot, record: SlotRecord, time: Date)] = []
    /// The number of records that are damaged or not ours.
    private(set) var unreadable = 0

    init() {}

    /// The time limit for the whole answer.
    private static let limit = Duration.seconds(8)
    /// The time in seconds after which a silent process is no longer reported.
    static let memory: TimeInterval = 3600

    /// - Throws: `NATSError` if the bucket does not exist or cannot be read in a few seconds.
    init(_ connection: NATSConnection, bucket: String) async throws(NATSError) {
        let prefix = "$KV.\(bucket)."
        guard let status = try await connection.streamStatus("KV_" + bucket) else {
            throw NATSError(.notFound, "there is no bucket \(bucket): set it up first")
        }
        guard status.settings.subjects == [prefix + ">"] else {
            throw NATSError(
                .differentSettings, "stream KV_\(bucket) is not bucket \(bucket): it takes other subjects than a bucket"
            )
        }
        for record in try await Self.read(connection, bucket) where record.subject.hasPrefix(prefix) {
            add(String(record.subject.dropFirst(prefix.count)), record)
        }
    }

    private mutating func add(_ key: String, _ record: RecordWatch.Record) {
        guard !record.payload.isEmpty else { return }  // a deleted record
        let time = Date(timeIntervalSince1970: Double(record.time) / 1e9)
        let json = JSONView(record.payload)
        if key.hasPrefix("h.") {
            guard let relay = RelayID(String(key.dropFirst(2))), let heartbeat = json.flatMap({ Heartbeat($0) }),
                heartbeat.incarnation > 0
            else { return unreadable += 1 }
            beats.append(
                Beat(
                    relay: relay, heartbeat: heartbeat, time: time, subject: record.subject, revision: record.revision))
        } else if key.hasPrefix("s.") {
            guard let slot = Int(key.dropFirst(2)).flatMap({ Slot($0) }), let owner = json.flatMap({ SlotRecord($0) })
            else { return unreadable += 1 }
            slots.append((slot, owner, time))
        }
    }

    /// Uses only the clock of the servers: another one may be wrong, and a living relay must keep its heartbeat.
    var deadHeartbeats: [Beat] {
        let owners = Set(slots.compactMap(\.record.owner))
        guard let newest = beats.map(\.time).max() else { return [] }
        return beats.filter { newest.timeIntervalSince($0.time) > Self.memory && !owners.contains($0.relay) }
    }

    private static func read(
        _ connection: NATSConnection, _ bucket: String
    ) async throws(NATSError) -> [RecordWatch.Record] {
        let (news, continuation) = AsyncStream.makeStream(of: RecordWatch.News.self)
        let watch = RecordWatch(connection, stream: "KV_" + bucket, filter: "$KV.\(bucket).>") {
            continuation.yield($0)
        }
        watch.start()
        defer { watch.close() }
        let patience = Task {
            try await Task.sleep(for: limit)
            continuation.finish()
        }
        defer { patience.cancel() }
        var records: [RecordWatch.Record] = []
        var reason = "no answer came in time"
        for await news in news {
            switch news {
            case .records(let new): records += new
            case .complete: return records
            case .failed(let error, let willRetry):
                if !willRetry { throw error }
                reason = "\(error)"
            }
        }
        throw NATSError(.timeout, "the records of bucket \(bucket) could not be read: \(reason)")
    }
}
