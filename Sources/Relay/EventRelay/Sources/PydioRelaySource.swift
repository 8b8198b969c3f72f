import Basics
import JSONBytes
public import PydioSDK
import Realtime

/// A workspace of a Pydio server. Its unit is `pydio:<workspace>`.
///
/// If the server keeps a log of changes, each change is relayed once, resuming at the last position on any relay.
public final class PydioRelaySource: RelaySource {
    private struct Run: Sendable {
        let events: PydioWorkspaceEvents
        let intake: RelayIntake
    }

    private let client: PydioClient
    private let workspaceId: String
    private let options: PydioEventsOptions
    private let run = Lock<Run?>(nil)
    private let isHeld = Lock(false)

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - client: A client that is logged in.
    ///   - options: The options; their `sequence` is ignored.
    public init(client: PydioClient, workspaceId: String, options: PydioEventsOptions = PydioEventsOptions()) {
        (self.client, self.workspaceId, self.options) = (client, workspaceId, options)
    }

    /// The unit of the workspace.
    public var units: [String] { ["pydio:" + workspaceId] }

    /// True: the server stores missed changes.
    public var hasHistory: Bool { true }

    /// Starts watching the workspace.
    public func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws {
        await stop(unit)
        var options = options
        options.sequence = position.flatMap { Int64($0) }
        let events = PydioWorkspaceEvents(client: client, workspaceId: workspaceId, options: options)
        let workspaceId = workspaceId
        let intake = RelayIntake(
            inlet, wants: { $0.eventName != PydioEventName.state }, id: { Self.id(of: $0, in: workspaceId) },
            tellsPositionsFirst: true, onState: { _ in })
        let states = events.states
        run.exchange(Run(events: events, intake: intake))
        events.attach(intake)
        events.hold(isHeld.withLock { $0 }, for: intake)
        events.start()
        for await state in states where state == .connected { return }
        try Task.checkCancellation()
    }

    /// Stops watching.
    public func stop(_ unit: String) async {
        guard let old = run.exchange(nil) else { return }
        old.events.detach(old.intake)
        old.events.close()
    }

    /// Stops requesting changes while held.
    public func hold(_ isHeld: Bool) {
        self.isHeld.withLock { $0 = isHeld }
        guard let run = run.withLock({ $0 }) else { return }
        run.events.hold(isHeld, for: run.intake)
    }

    /// One change in the log can produce several events.
    private static func id(of event: RealtimeEvent, in workspace: String) -> String? {
        guard let sequence = event.json["seq"]?.int else { return nil }
        let path = event.json["path"]?.string ?? ""
        return "\(workspace)/\(sequence)/\(event.eventName)/\(path)"
    }
}
