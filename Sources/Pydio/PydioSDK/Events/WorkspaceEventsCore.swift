import Basics
import CurlTransport
import Foundation
import PydioProtocol
import Realtime

/// Connects a ``WorkspaceDriver`` to its listeners, by a hub whose only channel is the workspace's.
final class WorkspaceEventsCore: HubOwner {
    private struct State: Sendable {
        var state = ConnectionState.disconnected
        var sequence: Int64?
        /// The driver; `nil` before the start and after the end.
        var driver: WorkspaceDriver?
        var isClosed = false
    }

    let client: PydioClient
    let workspaceId: String
    let channelName: String
    let hub: EventHub<SourceNotice>
    let channel: EventRouter.ChannelID
    private let options: PydioEventsOptions
    private let state: Lock<State>

    init(client: PydioClient, workspaceId: String, options: PydioEventsOptions) {
        // A separate client with the same session, so that the application's client does not report these requests as
        // its own.
        self.client = PydioClient(server: client.serverURL, params: client.params, options: client.options)
        self.workspaceId = workspaceId
        self.options = options
        channelName = "pydio:\((try? client.channelServer) ?? "")/\(workspaceId)"
        hub = EventHub(
            options.callbackQueue ?? .queue(client.options.completionQueue),
            capacity: CallbackLoad(count: 1024, byteCount: 16 << 20))
        channel = hub.channel(named: channelName)
        state = Lock(State(sequence: options.sequence))
    }

    var connectionState: ConnectionState { state.withLock { $0.state } }
    var sequence: Int64? { state.withLock { $0.sequence } }

    // MARK: Lifecycle

    /// Runs `body` on the I/O thread, after earlier calls.
    func withDriver(_ body: @escaping @Sendable @NetworkActor (WorkspaceDriver) -> Void) {
        let driver = state.withLock { state -> WorkspaceDriver? in
            if state.driver == nil, !state.isClosed { state.driver = makeDriver() }
            return state.driver
        }
        guard let driver else { return }
        NetworkActor.execute { body(driver) }
    }

    private func makeDriver() -> WorkspaceDriver {
        let requests = WorkspaceRequests(
            client: client, workspaceId: workspaceId, maximumNodes: max(options.maximumNodes, 0))
        return WorkspaceDriver(requests, options: options) { [weak self] in self?.tell($0) }
    }

    func close() {
        let driver = state.withLock { state in
            state.isClosed = true
            defer { state.driver = nil }
            return state.driver
        }
        // Its last reports are delivered before the listeners end.
        NetworkActor.execute {
            driver?.close()
            self.hub.close()
        }
    }

    // MARK: Input, on the I/O thread

    private func tell(_ report: WorkspaceDriver.Report) {
        switch report {
        case .events(let events): publish(events)
        case .changed(let new):
            state.withLock { $0.state = new }
            publish(SourceState(channelName: channelName, connectionState: new, underlying: new))
            publish([PydioEvent(state: new, in: workspaceId)])
        case .sequence(let sequence):
            state.withLock { $0.sequence = sequence }
            publish(reached: "\(sequence)")
        case .gap(let start, let end): publish(SourceGap(channelName: channelName, start: start, end: end))
        case .failed(let message, let error, let willRetry, let retryAfter):
            publish(
                SourceFailure(
                    message, channelName: channelName, willRetry: willRetry, retryAfter: retryAfter, underlying: error))
        }
    }

    private func publish(_ events: [PydioEvent]) {
        guard isHeard else { return }
        var batch = SourceEvents()
        for event in events { batch.append(name: event.name, channel: channelName, data: event.data) }
        publish(batch)
    }

    // MARK: Listeners

    func bind(_ name: String?, _ handler: @escaping @Sendable (PydioEvent) -> Void) -> PydioEventBinding {
        let workspaceId = workspaceId
        return PydioEventBinding(
            id: hub.bind(to: channel, event: name) { event in handler(PydioEvent(event, in: workspaceId)) })
    }

    func events(_ name: String?, _ policy: EventBufferingPolicy) -> EventSequence<PydioEvent> {
        let workspaceId = workspaceId
        return events(on: channel, channelName: channelName, named: name, policy: policy) { event in
            PydioEvent(event.detached(), in: workspaceId)
        }
    }

    var states: EventSequence<ConnectionState> {
        observe { if case .stateChanged(let state) = $0 { state.connectionState } else { nil } }
    }

    func hold(for reader: EventReader) { withDriver { $0.hold(for: reader) } }

    func release(for reader: EventReader) { withDriver { $0.release(for: reader) } }

    func hold(_ isHeld: Bool) { withDriver { $0.hold(isHeld) } }

    func lost(_ loss: EventLoss, channelName: String?) {
        switch loss {
        case .oldest: break
        case .rest:
            execute { [weak self] in
                self?.tell(
                    .failed(
                        "a sequence of events was read too slowly and has ended", nil, willRetry: false, retryAfter: nil
                    ))
            }
        }
    }

    func execute(_ job: @escaping @Sendable () -> Void) { NetworkActor.execute { job() } }
}
