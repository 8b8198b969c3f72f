import Basics
import CurlTransport
import RelayProtocol

/// The ids of what is in the stream already of events that are about to come again: a stream knows repeated ids only for a while,
/// and an outage may have been longer. Read once, before a unit starts from a position that old.
struct StoredIDs: Sendable {
    private var ids: Set<ByteKey> = []
    /// Whether something has come again since the last position.
    private var hasTaken = true

    /// Of what was stored since then, whichever unit it is of: an event of two accounts is stored once.
    ///
    /// - Parameters:
    ///   - source: `matrix` or `pydio`.
    ///   - time: Milliseconds since 1970.
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
    /// The first ones count: they were stored right before the outage.
    private static let maximumCount = 1_000_000

    private mutating func add(_ message: IncomingMessage, _ options: EventRelayOptions) {
        let message = try? RelayMessage(
            subject: message.subject, prefix: options.prefix, payload: message.payload, header: message.header)
        if let id = message?.id { ids.insert(id) }
    }

    /// Whether it is there. An event comes again once: then it is forgotten here.
    mutating func take(_ id: String) -> Bool {
        guard !ids.isEmpty, ids.remove(id) else { return false }
        hasTaken = true
        return true
    }

    /// The source has passed a position: when nothing before it has come again, nothing behind it does.
    mutating func passPosition() {
        if !hasTaken { ids = [] }
        hasTaken = false
    }
}
