import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Decides about the upgrade of one TCP connection and builds its pipeline.
final class WebSocketUpgrade {
    private let core: ServerCore
    private let http: HTTPHandler
    private var connection: WebSocketHandler?

    init(core: ServerCore, http: HTTPHandler) {
        self.core = core
        self.http = http
    }

    var upgrader: NIOWebSocketServerUpgrader {
        let bound = NIOLoopBound(self, eventLoop: core.eventLoop)
        return NIOWebSocketServerUpgrader(
            maxFrameSize: core.configuration.maximumMessageSize, automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                channel.eventLoop.makeSucceededFuture(bound.value.answer(to: head, on: channel))
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture { try bound.value.install(on: channel) }
            })
    }

    /// Returns the fields to add to the 101 answer, or `nil` if the connection does not become a WebSocket.
    private func answer(to head: HTTPRequestHead, on channel: any Channel) -> HTTPHeaders? {
        guard head.method == .GET, head.namesItsHost, !core.configuration.servesAuthOnly else { return nil }
        let target = RequestTarget(head.uri)
        let fault = core.takeHandshakeFault(
            app: ConnectRequest.appKey(in: target, configuration: core.configuration))
        switch fault {
        case .refuseConnection:
            channel.close(promise: nil)
            return nil
        case .httpStatus(let status):
            http.refuseUpgrade(with: status)
            return nil
        case nil, .refuse, .close, .errorFirst, .text, .delay, .never: break
        }
        connection = WebSocketHandler(core: core, request: request(for: target), fault: fault)
        // This server uses no subprotocol, but echoes an offered one for strict clients.
        let offered = head.headers[canonicalForm: "Sec-WebSocket-Protocol"].first.map(String.init)
        return HTTPHeaders(offered.map { [("Sec-WebSocket-Protocol", $0)] } ?? [])
    }

    private func request(for target: RequestTarget) -> Result<ConnectRequest, ConnectRequest.Refusal> {
        let configuration = core.configuration
        return Result { () throws(ConnectRequest.Refusal) in
            try ConnectRequest(target: target, isSecure: configuration.tls != nil, configuration: configuration)
        }
    }

    private func install(on channel: any Channel) throws {
        guard let connection else { return }
        let limit = core.configuration.maximumMessageSize
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(http, promise: nil)
        try pipeline.addHandlers([
            FrameValidator(),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: max(limit / 8, 1024),
                maxAccumulatedFrameSize: limit),
            connection,
        ])
    }
}
