import Basics
import RelayProtocol

/// Moves events of sources into a stream of NATS JetStream, together with other relays: each channel, account or workspace is read
/// by one of them, and by another one when that is gone.
///
///     let relay = EventRelay(EventRelayOptions(try NATSOptions("nats://127.0.0.1:4222")), sources: [channels])
///     try await relay.run()
///
/// What is in the stream, and what can be missed or come twice, stands in the article on guarantees. All relays that share the work
/// must have the same units.
public final class EventRelay: Sendable {
    private let core: RelayCore

    /// Does nothing until ``run()``.
    ///
    /// - Parameter sources: Of all units, whichever relay is to have them.
    public init(_ options: EventRelayOptions, sources: [any RelaySource]) {
        core = RelayCore(options, sources)
    }

    deinit { core.close() }

    /// What this process is called among relays: its name, and random digits.
    public var id: String { "\(core.relay)" }

    /// Calls back with what happens, from any thread, in order. To be called before ``run()``.
    public func observe(_ observer: @escaping @Sendable (RelayReport) -> Void) {
        core.state.withLock { $0.observers.append(observer) }
    }

    /// Relays until the task is cancelled; then gives back what it owns, so that others go on at once, and returns.
    ///
    /// - Throws: `NATSError` if no server can be reached, or streams are missing; nothing was begun then. What fails later is
    ///   reported and tried again.
    public func run() async throws {
        try core.options.validate()
        try await core.start()
        let gate = AsyncStream<Never>.makeStream()
        for await _ in gate.stream {}
        // In a task of its own: this one is cancelled.
        await Task { [core] in await core.leave() }.value
        core.close()
    }

    /// The units that this relay has now.
    public var units: [String] {
        core.state.withLock { state in state.units.filter { $0.value.term != nil }.keys.map(\.string) }.sorted()
    }
}
