import CurlTransport
import PydioProtocol
public import Realtime

/// A binding created by ``PydioWorkspaceEvents/bind(_:_:)``, for ``PydioWorkspaceEvents/unbind(_:)``.
public struct PydioEventBinding: Hashable, Sendable {
    /// The binding's id; `nil` if there are no more events.
    let id: EventRouter.BindingID?
}

/// The live events of a workspace.
///
///     let events = PydioWorkspaceEvents(client: client, workspaceId: "0")
///     events.bind(PydioEventName.nodeCreated) { event in print(event.path ?? "-") }
///     events.start()
///
/// If you attach it to a `Pusher` client, its events reach that client's bindings on the channel ``channelName``. For
/// names and data, see ``PydioEventName``.
///
/// It learns of changes by a WebSocket if the server has one, otherwise by polling. If the server keeps a change log,
/// it reads changes from there, so that nothing is lost while the client is offline. Without a log, it finds missed
/// changes by listing and comparing the workspace, and also reports a gap. It logs in like its client, retries
/// automatically after every failure except a refused login, and runs until you pause, close or release it. You can use
/// it from any thread.
public final class PydioWorkspaceEvents: Sendable {
    private let core: WorkspaceEventsCore

    /// - Parameters:
    ///   - client: The client of the server, which also provides the user.
    ///   - workspaceId: The ``WorkspaceResponse/workspaceId``; not the name or the slug.
    public init(client: PydioClient, workspaceId: String, options: PydioEventsOptions = PydioEventsOptions()) {
        core = WorkspaceEventsCore(client: client, workspaceId: workspaceId, options: options)
    }

    deinit {
        core.close()
    }

    // MARK: Properties

    /// The workspace's id.
    public var workspaceId: String { core.workspaceId }

    /// The channel name `pydio:<server>/<workspace id>`. The server consists of its host, its port if not the default,
    /// and its path.
    public var channelName: String { core.channelName }

    /// The state: `connected` once it can report changes; `disconnected` before the start, after a pause, and when a
    /// retry would not help.
    public var state: ConnectionState { core.connectionState }

    /// The position in the server's change log up to which everything was reported; `nil` if the server has no log.
    /// Store it and pass it to the next start as ``PydioEventsOptions/sequence`` to receive the changes in between. It
    /// may be ahead of a slow reader.
    public var sequence: Int64? { core.sequence }

    // MARK: Lifecycle

    /// Starts to request changes, or retries at once if a retry is pending. Returns at once.
    public func start() {
        core.client.forgetRefusedLogin()
        core.withDriver { $0.start() }
    }

    /// Stops requests until ``resume()``. Changes in between are reported then, as after a network failure.
    public func pause() { core.withDriver { $0.pause() } }

    /// Continues after ``pause()``; same as ``start()``.
    public func resume() { start() }

    /// Requests changes at once instead of with the next poll. Useful if an answer from the server has
    /// ``PydioSuccessResponse/hasWaitingMessages`` set.
    public func check() { core.withDriver { $0.check() } }

    /// Stops it for good, and ends its sequences.
    public func close() { core.close() }

    // MARK: Events

    /// Calls back for each event of this name, or of every name if `nil`, in order, on
    /// ``PydioEventsOptions/callbackQueue``. While many events wait for that queue, no more are requested.
    @discardableResult
    public func bind(_ name: String? = nil, _ handler: @escaping @Sendable (PydioEvent) -> Void) -> PydioEventBinding {
        core.bind(name, handler)
    }

    /// Calls back with every event in the form of a `Pusher` client, and with all other reports, in order.
    package func observe(
        events: @escaping @Sendable (RealtimeEvent) -> Void, others: @escaping @Sendable (SourceNotice) -> Void
    ) {
        core.observe(events: events, others: others)
    }

    /// Removes a binding; you can also call it from within a callback.
    public func unbind(_ binding: PydioEventBinding) {
        if let id = binding.id { core.hub.unbind(id, from: core.channel) }
    }

    /// Removes all bindings.
    public func unbindAll() { core.hub.unbindAll(from: core.channel) }

    /// Returns events as they arrive, from this call on.
    ///
    /// - Parameters:
    ///   - name: The name of the events; `nil` for all events.
    ///   - buffering: With `suspend`, no more events are requested while that many wait to be read.
    public func events(
        _ name: String? = nil, buffering: EventBufferingPolicy = .default
    ) -> EventSequence<PydioEvent> {
        core.events(name, buffering)
    }

    /// New states, from this call on. Buffers the newest 1,024 for a slow reader.
    public var states: EventSequence<ConnectionState> { core.states }

    /// Failures, from this call on. Buffers the newest 1,024 for a slow reader.
    public var errors: EventSequence<SourceFailure> { core.failures }

    /// Periods in which changes may have been missed, from this call on. Buffers the newest 1,024 for a slow reader.
    public var gaps: EventSequence<SourceGap> { core.gaps }
}

extension PydioWorkspaceEvents: RealtimeEventSource {
    /// Same as ``channelName``: there is one source for each workspace.
    public var channelPrefix: String { channelName }

    /// See `RealtimeEventSource`.
    public func attach(_ sink: any RealtimeEventSink) { core.attach(sink) }

    /// See `RealtimeEventSource`.
    public func detach(_ sink: any RealtimeEventSink) { core.detach(sink) }

    /// Stops polling and reading from the WebSocket while `isHeld` is true.
    public func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) { core.hold(isHeld, for: sink) }
}
