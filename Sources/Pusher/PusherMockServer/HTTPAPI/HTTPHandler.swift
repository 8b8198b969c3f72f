import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Collects HTTP requests, and writes the answers of the server's logic.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    enum Reply {
        case now(APIResponse)
        case later(APIResponse, Duration)
        case whenReleased(EventLoopFuture<APIResponse>)
        case never
    }

    private let core: ServerCore
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var isTooLarge = false
    private var upgradeRefusal: Int?

    init(core: ServerCore) {
        self.core = core
    }

    /// Answers the current request with `status`.
    func refuseUpgrade(with status: Int) {
        upgradeRefusal = status
    }

    func handlerAdded(context: ChannelHandlerContext) {
        core.awaitRequest(on: context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        core.requestArrived(on: context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            isTooLarge = false
            if Self.waitsToSend(head) { writeContinue(context) }
        case .body(let part):
            isTooLarge = isTooLarge || body.readableBytes + part.readableBytes > core.configuration.maximumMessageSize
            if !isTooLarge { body.writeImmutableBuffer(part) }
        case .end:
            guard let head else { return }
            self.head = nil
            core.requestArrived(on: context.channel)
            reply(to: head, context: context)
            body = ByteBuffer()  // release the body while waiting for the next request
        }
    }

    /// Whether the client waits to send its body (RFC 9110, section 10.1.1): it sends it after a 100 answer, or after a
    /// while.
    private static func waitsToSend(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1 && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }

    private func writeContinue(_ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(Self.wrapOutboundOut(.head(head)), promise: nil)
    }

    private func reply(to head: HTTPRequestHead, context: ChannelHandlerContext) {
        switch answer(to: head) {
        case .now(let response): write(response, to: head, context: context)
        case .later(let response, let delay):
            context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(bounded: delay)) {
                self.write(response, to: head, context: context)
            }
        case .whenReleased(let response):
            response.assumeIsolated().whenSuccess { self.write($0, to: head, context: context) }
        case .never: break
        }
    }

    private func answer(to head: HTTPRequestHead) -> Reply {
        if let status = upgradeRefusal {
            upgradeRefusal = nil
            return .now(APIResponse(status: status, body: ""))
        }
        guard head.namesItsHost else {
            return .now(APIResponse(status: 400, body: "The request must have one Host field, with a valid host\n"))
        }
        guard !isTooLarge else {
            let limit = core.configuration.maximumMessageSize
            return .now(APIResponse(status: 413, body: "The body exceeds maximumMessageSize (\(limit) bytes)\n"))
        }
        let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
        return core.reply(
            to: APIRequest(
                method: head.method.rawValue, target: RequestTarget(head.uri), headers: headers,
                body: Array(body.readableBytesView)))
    }

    private func write(_ response: APIResponse, to head: HTTPRequestHead, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        var headers = HTTPHeaders(response.headers.map { ($0.key, $0.value) })
        headers.add(name: "Content-Type", value: response.contentType)
        headers.add(name: "Content-Length", value: "\(response.body.utf8.count)")
        if !head.isKeepAlive { headers.add(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: response.status)
        let part = HTTPResponseHead(version: head.version, status: status, headers: headers)
        context.write(Self.wrapOutboundOut(.head(part)), promise: nil)
        // The length is still sent (RFC 9110, section 9.3.2).
        if head.method != .HEAD {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: response.body)))), promise: nil)
        }
        // Before the end is written: a pipelined request arrives within that call.
        if head.isKeepAlive { core.awaitRequest(on: context.channel) }
        let written = context.writeAndFlush(Self.wrapOutboundOut(.end(nil)))
        if !head.isKeepAlive { written.assumeIsolated().whenComplete { _ in context.close(promise: nil) } }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused upgrade is an ordinary request from here on, and is answered as such.
        if error is NIOWebSocketUpgradeError { return }
        context.close(promise: nil)
    }
}

extension HTTPRequestHead {
    /// Whether there is one `Host` field with a host, which HTTP/1.0 may omit (RFC 9112, section 3.2).
    var namesItsHost: Bool {
        let hosts = headers["Host"]
        guard let host = hosts.first else { return (version.major, version.minor) < (1, 1) }
        return hosts.count == 1 && HostField(host) != nil
    }
}
