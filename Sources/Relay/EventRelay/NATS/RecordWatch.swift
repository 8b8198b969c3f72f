import CurlTransport
import RelayProtocol

/// Watches the last message of each subject of a stream and all later ones: the records of a bucket, or fences.
///
/// After losing the connection or a server, it reports everything again.
package final class RecordWatch: Sendable {
    package struct Record: Sendable {
        package let subject: String
        package let revision: UInt64
        /// The payload; empty for a deleted record.
        package let payload: [UInt8]
        package let message: IncomingMessage
        /// The time at which it was stored, in nanoseconds since 1970.
        package let time: Int64
    }

    package enum News: Sendable {
        case records([Record])
        /// Everything that existed at the start was reported. Repeated after each restart.
        case complete
        /// An error; each kind is reported once until it works again.
        case failed(NATSError, willRetry: Bool)
    }

    private let reader: PullReader

    /// - Parameters:
    ///   - filter: The subjects to watch.
    ///   - headers: The names of the headers to read.
    package init(
        _ connection: NATSConnection, stream: String, filter: String, headers: [String] = [],
        onNews: @escaping @Sendable @NetworkActor (News) -> Void
    ) {
        let settings = ConsumerSettings(filter: filter, start: .lastOfEachSubject)
        let progress = Progress()
        let own = WeakReader()
        reader = PullReader(connection, stream: stream, settings: settings, headers: headers) { report in
            switch report {
            case .began(let pending, _):
                progress.left = pending
                if pending == 0 { onNews(.complete) }
            case .delivered(let deliveries):
                own.reader?.taken(deliveries.count, bytes: deliveries.reduce(0) { $0 + $1.byteCount })
                onNews(.records(deliveries.map { Record($0) }))
                guard progress.left > 0 else { return }
                progress.left -= deliveries.count
                if deliveries.contains(where: { $0.info.pending == 0 }) { progress.left = 0 }
                if progress.left <= 0 { onNews(.complete) }
            case .remade, .streamIsNew: break  // everything is reported again
            case .failed(let error, let willRetry): onNews(.failed(error, willRetry: willRetry))
            }
        }
        let reader = reader
        NetworkActor.execute { own.reader = reader }
    }

    deinit { reader.close() }

    package func start() { reader.start() }

    package func close() { reader.close() }

    @NetworkActor
    private final class Progress {
        /// The number of initial messages left. A message that is overwritten before its delivery is not delivered, but
        /// the server still counts it as pending (2.9.10). Its replacement arrives instead, after all the others.
        var left = 0

        nonisolated init() {}
    }

    @NetworkActor
    private final class WeakReader {
        weak var reader: PullReader?

        nonisolated init() {}
    }
}

extension RecordWatch.Record {
    fileprivate init(_ delivery: Delivery) {
        self.init(
            subject: delivery.message.subject, revision: delivery.info.streamSequence,
            payload: delivery.message.payload,
            message: delivery.message, time: delivery.info.time)
    }
}
