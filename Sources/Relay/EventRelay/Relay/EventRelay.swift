import Basics
import RelayProtocol

/// Moves events of sources into a stream of NATS JetStream, together with other relays. Each channel, account or
/// workspace is read by one relay, and by another one if that fails.
///
///     let relay = EventRelay(EventRelayOptions(try NATSOptions("nats://127.0.0.1:4222")), sources: [channels])
///     try await relay.run()
///
/// The article on guarantees describes the contents of the stream, and which events can be missed or repeated. All
/// relays that share the work must have the same units.
public final class EventRelay: Sendable {
    private let core: RelayCore

    /// Creates a relay, which does nothing until ``run()``.
    ///
    /// - Parameter sources: The sources of all units, whichever relay will own them.
    public init(_ options: EventRelayOptions, sources: [any RelaySource]) {
        core = RelayCore(options, sources)
    }

    deinit { core.close() }

    /// The identifier of this process among relays: its name and random digits.
    public var id: String { "\(core.relay)" }

    /// Calls back with reports, from any thread, in order. Call this before ``run()``.
    public func observe(_ observer: @escaping @Sendable (RelayReport) -> Void) {
        core.state.withLock { $0.observers.append(observer) }
    }

    /// Relays events until the task is cancelled. Then gives back what it owns, so that others continue at once, and
    /// returns.
    ///
    /// - Throws: `NATSError` if no server can be reached or streams are missing; nothing was started then. Later
    ///   failures are reported and retried.
    public func run() async throws {
        try core.options.validate()
        try await core.start()
        let gate = AsyncStream<Never>.makeStream()
        for await _ in gate.stream {}
        // In a separate task, because this one is cancelled.
        await Task { [core] in await core.leave() }.value
        core.close()
    }

    /// The units that this relay currently owns.
    public var units: [String] {
        core.state.withLock { state in state.units.filter { $0.value.term != nil }.keys.map(\.string) }.sorted()
    }
}
