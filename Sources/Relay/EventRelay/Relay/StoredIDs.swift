import Basics
import CurlTransport
import RelayProtocol

/// The IDs of stored events that are about to arrive again. A stream recognizes repeated IDs only for a while, and an
/// outage may last longer. Read once, before a unit starts from a position that old.
struct StoredIDs: Sendable {
    private var ids: Set<ByteKey> = []
    /// Whether an event has arrived again since the last position.
    private var hasTaken = true

    /// Reads the IDs stored since then, of all units, because an event of two accounts is stored once.
    ///
    /// - Parameters:
    ///   - source: `matrix` or `pydio`.
    ///   - time: In milliseconds since 1970.
    static func read(
        _ connection: NATSConnection, source: String, since time: Int64, _ options: EventRelayOptions
    ) async throws(NATSError) -> StoredIDs {
        let (reports, continuation) = AsyncStream.makeStream(of: PullReader.Report.self)
        let settings = ConsumerSettings(filter: "\(options.prefix).\(source).>", start: .time(time * 1_000_000))
        let reader = PullReader(
            connection, stream: options.stream, settings: settings, headers: RelayMessage.headerNames
        ) { continuation.yield($0) }
        reader.start()
        defer { reader.close() }
        let lastNews = Lock(MonotonicInstant.now)
        let patience = Task {
            while lastNews.withLock({ .now - $0 }) < silence { try await Task.sleep(for: silence / 10) }
            continuation.finish()
        }
        defer { patience.cancel() }
        var stored = StoredIDs()
        for await report in reports {
            lastNews.withLock { $0 = .now }
            switch report {
            case .began(let pending, _): if pending == 0 { return stored }
            case .remade, .streamIsNew: break
            case .failed(let error, let willRetry): if !willRetry { throw error }
            case .delivered(let deliveries):
                for delivery in deliveries { stored.add(delivery.message, options) }
                reader.taken(deliveries.count, bytes: deliveries.reduce(0) { $0 + $1.byteCount })
                let isLast = deliveries.contains { $0.info.pending == 0 }
                if isLast || stored.ids.count >= maximumCount { return stored }
            }
        }
        throw NATSError(.timeout, "what is in the stream of \(source) could not be read in time")
    }

    private static let silence = Duration.seconds(20)
    /// The first ones are kept: they were stored right before the outage.
    private static let maximumCount = 1_000_000

    private mutating func add(_ message: IncomingMessage, _ options: EventRelayOptions) {
        let message = try? RelayMessage(
            subject: message.subject, prefix: options.prefix, payload: message.payload, header: message.header)
        if let id = message?.id { ids.insert(id) }
    }

    /// Returns whether the ID is known, and removes it, because an event arrives again only once.
    mutating func take(_ id: String) -> Bool {
        guard !ids.isEmpty, ids.remove(id) else { return false }
        hasTaken = true
        return true
    }

    /// Called when the source has passed a position. If no event before it was a repetition, none after it will be.
    mutating func passPosition() {
        if !hasTaken { ids = [] }
        hasTaken = false
    }
}
