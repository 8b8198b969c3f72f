import Basics
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

/// A relay in this process that acts like one in its own process.
final class RunningRelay: Sendable {
    let relay: EventRelay
    private let reports = Lock<[RelayReport]>([])
    private let task: Task<Void, Never>

    init(
        _ name: String, _ nats: NATSServer, _ source: any RelaySource,
        _ change: (inout EventRelayOptions) -> Void = { _ in }
    ) throws {
        var options = EventRelayOptions(try NATSOptions(nats.url), name: name)
        change(&options)
        relay = EventRelay(options, sources: [source])
        let (relay, reports) = (relay, reports)
        relay.observe { report in reports.withLock { $0.append(report) } }
        task = Task { try? await relay.run() }
    }

    var units: [String] { relay.units }

    /// Stops it like SIGTERM.
    func stop() async {
        task.cancel()
        await task.value
    }

    func hasReported(_ text: String) async -> Bool {
        await eventually(within: .seconds(20)) { self.text.contains(text) }
    }

    var text: String { reports.withLock { $0 }.map { "\($0)" }.joined(separator: "\n") }
}

extension NATSServer {
    func messages() async throws -> [RelayMessage] {
        let connection = try await connect()
        defer { connection.close() }
        let last = try #require(try await connection.streamStatus("EVENTS")).lastSequence
        let read = Lock<(place: UInt64, messages: [RelayMessage])>((0, []))
        let ownReader = Lock<PullReader?>(nil)
        let reader = PullReader(
            connection, stream: "EVENTS", settings: ConsumerSettings(start: .beginning),
            headers: RelayMessage.headerNames
        ) { report in
            guard case .delivered(let deliveries) = report else { return }
            ownReader.withLock { $0 }?.taken(deliveries.count, bytes: deliveries.reduce(0) { $0 + $1.byteCount })
            read.withLock { read in
                for delivery in deliveries {
                    read.place = delivery.info.streamSequence
                    let message = try? RelayMessage(
                        subject: delivery.message.subject, prefix: "ev", payload: delivery.message.payload,
                        header: delivery.message.header)
                    read.messages.append(contentsOf: [message].compactMap(\.self))
                }
            }
        }
        ownReader.withLock { $0 = reader }
        defer { ownReader.withLock { $0 = nil } }
        reader.start()
        defer { reader.close() }
        #expect(await eventually { read.withLock { $0.place } >= last })
        return read.withLock { $0.messages }
    }
}
