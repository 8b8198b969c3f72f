import CurlTransport
import PydioProtocol
public import Realtime

/// What ``PydioWorkspaceEvents/bind(_:_:)`` returns, for ``PydioWorkspaceEvents/unbind(_:)``.
public struct PydioEventBinding: Hashable, Sendable {
    /// Nil if nothing more comes.
    let id: EventRouter.BindingID?
}

/// What happens in a workspace, as it happens.
///
///     let events = PydioWorkspaceEvents(client: client, workspaceId: "0")
///     events.bind(PydioEventName.nodeCreated) { event in print(event.path ?? "-") }
///     events.start()
///
/// Attached to a `Pusher` client, its events reach that client's bindings on the channel ``channelName``. Names and data are
/// those of ``PydioEventName``.
///
/// Changes are told by a WebSocket where the server has one, else by polls; where the server keeps a log of changes, they
/// are read from it, so that nothing is lost while the client is away. Without a log, what was missed is found by listing
/// the workspace and comparing, and told as a gap as well. It logs in as its client does, tries again by itself after every
/// failure but that of a login, and runs until it is paused, closed or let go of. May be used from any thread.
public final class PydioWorkspaceEvents: Sendable {
    private let core: WorkspaceEventsCore

    /// - Parameters:
    ///   - client: Of the server, and who logs in there.
    ///   - workspaceId: ``WorkspaceResponse/workspaceId``; neither its name nor its slug.
    public init(client: PydioClient, workspaceId: String, options: PydioEventsOptions = PydioEventsOptions()) {
        core = WorkspaceEventsCore(client: client, workspaceId: workspaceId, options: options)
    }

    deinit {
        core.close()
    }

    // MARK: What it is

    /// The workspace's id.
    public var workspaceId: String { core.workspaceId }

    /// `pydio:<server>/<workspace id>`; the server is its host, its port if that is not the usual one, and its path.
    public var channelName: String { core.channelName }

    /// `connected` when everything is known that a change is told against; `disconnected` before the start, after a pause,
    /// and when trying again would not help.
    public var state: ConnectionState { core.connectionState }

    /// The place in the server's log of changes up to which everything was told; nil if it keeps none. Kept, and given to the
    /// next start as ``PydioEventsOptions/sequence``, it makes that tell what has happened in between. It is ahead of what a
    /// slow reader has taken.
    public var sequence: Int64? { core.sequence }

    // MARK: Life

    /// Begins to ask for changes, or tries again at once if a retry is waited for. Returns at once.
    public func start() {
        core.client.forgetRefusedLogin()
        core.withDriver { $0.start() }
    }

    /// Asks no more until ``resume()``. What happens meanwhile is told then, as after a loss of the network.
    public func pause() { core.withDriver { $0.pause() } }

    /// Goes on after ``pause()``; the same as ``start()``.
    public func resume() { start() }

    /// Asks at once instead of with the next poll: useful when an answer of the server's says
    /// ``PydioSuccessResponse/hasWaitingMessages``.
    public func check() { core.withDriver { $0.check() } }

    /// Ends it for good, and its sequences.
    public func close() { core.close() }

    // MARK: Events

    /// Calls back for each event of this name, in order, on ``PydioEventsOptions/callbackQueue``; nil is every name. While many
    /// events wait for that queue no more are asked for.
    @discardableResult
    public func bind(_ name: String? = nil, _ handler: @escaping @Sendable (PydioEvent) -> Void) -> PydioEventBinding {
        core.bind(name, handler)
    }

    /// Calls back with every event as a `Pusher` client has it, and with all else that is told, in order.
    package func observe(
        events: @escaping @Sendable (RealtimeEvent) -> Void, others: @escaping @Sendable (SourceNotice) -> Void
    ) {
        core.observe(events: events, others: others)
    }

    /// Ends the calls of a binding, also from within one.
    public func unbind(_ binding: PydioEventBinding) {
        if let id = binding.id { core.hub.unbind(id, from: core.channel) }
    }

    /// Ends the calls of all bindings.
    public func unbindAll() { core.hub.unbindAll(from: core.channel) }

    /// Events as they come, from this call on.
    ///
    /// - Parameters:
    ///   - name: Nil is every name.
    ///   - buffering: With `suspend`, no more is asked for while so many events wait to be read.
    public func events(
        _ name: String? = nil, buffering: EventBufferingPolicy = .default
    ) -> EventSequence<PydioEvent> {
        core.events(name, buffering)
    }

    /// Each new state, from this call on. Keeps the newest 1,024 for a slow reader.
    public var states: EventSequence<ConnectionState> { core.states }

    /// What goes wrong, from this call on. Keeps the newest 1,024 for a slow reader.
    public var errors: EventSequence<SourceFailure> { core.failures }

    /// Times in which changes may have been missed, from this call on. Keeps the newest 1,024 for a slow reader.
    public var gaps: EventSequence<SourceGap> { core.gaps }
}

extension PydioWorkspaceEvents: RealtimeEventSource {
    /// ``channelName``: there is one source for each workspace.
    public var channelPrefix: String { channelName }

    /// See `RealtimeEventSource`.
    public func attach(_ sink: any RealtimeEventSink) { core.attach(sink) }

    /// See `RealtimeEventSource`.
    public func detach(_ sink: any RealtimeEventSink) { core.detach(sink) }

    /// Polls no more, and reads no more from the WebSocket, as long as `isHeld`.
    public func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) { core.hold(isHeld, for: sink) }
}
