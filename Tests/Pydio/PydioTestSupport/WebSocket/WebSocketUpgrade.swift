import Basics
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Decides on the upgrade of one connection and builds its pipeline.
final class WebSocketUpgrade {
    private let core: PydioServerCore
    private let http: RequestHandler
    private let eventLoop: any EventLoop
    private var peer: WebSocketPeer?

    init(core: PydioServerCore, http: RequestHandler, eventLoop: any EventLoop) {
        (self.core, self.http, self.eventLoop) = (core, http, eventLoop)
    }

    var upgrader: NIOWebSocketServerUpgrader {
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        return NIOWebSocketServerUpgrader(
            maxFrameSize: 10 << 20, automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                channel.eventLoop.makeSucceededFuture(bound.value.fields(for: head))
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture { try bound.value.install(on: channel) }
            })
    }

    /// The fields to add to the 101 answer; `nil` if the connection does not become a WebSocket.
    private func fields(for head: HTTPRequestHead) -> HTTPHeaders? {
        guard let request = RequestBody(head).request(head, size: 0, address: "") else { return nil }
        let (isThere, user, mode) = core.state.withLock { state in
            state.record(request)
            let configuration = state.configuration
            return (
                configuration.hasWebSocket && request.rawPath == configuration.basePath + ServerState.webSocketPath,
                state.webSocketUser(request), state.mode
            )
        }
        guard isThere, user != nil || mode == .v5_2 else {
            http.refusal = isThere ? .unauthorized : .notFound
            return nil
        }
        // The older server accepts every client, then finds out the user, and closes.
        peer = WebSocketPeer(core: core, user: user)
        return HTTPHeaders()
    }

    private func install(on channel: any Channel) throws {
        guard let peer else { return }
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(http, promise: nil)
        try pipeline.addHandlers([
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024, maxAccumulatedFrameSize: 10 << 20),
            peer,
        ])
    }
}
