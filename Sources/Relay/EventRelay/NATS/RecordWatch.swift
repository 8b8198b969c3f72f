import CurlTransport
import RelayProtocol

/// The last message of each subject of a stream, and those that come after them: the records of a bucket, or fences.
///
/// After a loss of the connection, or of a server, everything is told anew.
package final class RecordWatch: Sendable {
    package struct Record: Sendable {
        package let subject: String
        package let revision: UInt64
        /// Empty for one that was deleted.
        package let payload: [UInt8]
        package let message: IncomingMessage
        /// When it was stored, in nanoseconds since 1970.
        package let time: Int64
    }

    package enum News: Sendable {
        /// In the order of the stream.
        case records([Record])
        /// Everything that was there at the beginning was told; after each beginning.
        case complete
        /// Told once for each kind, until it works again.
        case failed(NATSError, willRetry: Bool)
    }

    private let reader: PullReader

    /// - Parameters:
    ///   - filter: The subjects to watch.
    ///   - headers: Names of those that are read.
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
            case .remade, .streamIsNew: break  // everything is told anew
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
        /// Messages of the beginning. What is written over before it is delivered does not come, and the server counts it as
        /// pending from then on (2.9.10); what was written over it comes in its stead, behind all the others.
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
