import Foundation
import NIOCore
import NIOHTTP1
import PusherProtocol

/// A homeserver's connection to the ``PushGateway``.
final class PushGatewayHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    typealias Deliver = @Sendable (PushNotification) -> AsyncStream<PushNotification>.Continuation.YieldResult

    private enum State {
        case idle
        case receiving(HTTPRequestHead, ByteBuffer)
        /// Answered before the end of the request: the connection closes, and further data is ignored.
        case refused
    }

    private struct Answer {
        var status: HTTPResponseStatus
        var json: String

        static func error(_ status: HTTPResponseStatus, _ errcode: String, _ message: String) -> Answer {
            Answer(status: status, json: JSON.text(["errcode": errcode, "error": message]) ?? "{}")
        }
    }

    private let configuration: PushGateway.Configuration
    private let deliver: Deliver
    private var state = State.idle

    init(_ configuration: PushGateway.Configuration, deliver: @escaping Deliver) {
        self.configuration = configuration
        self.deliver = deliver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (Self.unwrapInboundIn(data), state) {
        case (.head(let head), .idle):
            state = .receiving(head, ByteBuffer())
        case (.body(let part), .receiving(let head, var body)):
            guard body.readableBytes + part.readableBytes <= configuration.maximumBodySize else {
                state = .refused
                let message = "The body exceeds \(configuration.maximumBodySize) bytes."
                return write(.error(.payloadTooLarge, "M_TOO_LARGE", message), keepsAlive: false, context: context)
            }
            state = .idle  // otherwise the buffer has two owners, and each part copies it
            body.writeImmutableBuffer(part)
            state = .receiving(head, body)
        case (.end, .receiving(let head, let body)):
            state = .idle
            write(answer(to: head, body), keepsAlive: head.isKeepAlive, context: context)
        case (.head, .receiving), (.head, .refused), (.body, .idle), (.body, .refused), (.end, .idle), (.end, .refused):
            break  // data after a refusal; the decoder sends nothing else out of order
        }
    }

    private func answer(to head: HTTPRequestHead, _ body: ByteBuffer) -> Answer {
        guard head.uri.prefix(while: { $0 != "?" }) == PushGateway.path else {
            return .error(.notFound, "M_UNRECOGNIZED", "There is only \(PushGateway.path) here.")
        }
        guard head.method == .POST else {
            return .error(.methodNotAllowed, "M_UNRECOGNIZED", "Only POST is supported.")
        }
        do throws(PushNotification.Malformed) {
            let notification = try PushNotification(body: Data(body.readableBytesView))
            let rejected = notification.devices.filter { !configuration.accepts($0) }.map(\.pushKey)
            if let accepted = notification.filtered(configuration.accepts) {
                switch deliver(accepted) {
                case .enqueued: break
                case .dropped:
                    return .error(.tooManyRequests, "M_LIMIT_EXCEEDED", "Too many notifications wait to be read.")
                case .terminated: return .error(.serviceUnavailable, "M_UNKNOWN", "The gateway is stopping.")
                @unknown default: return .error(.serviceUnavailable, "M_UNKNOWN", "The gateway cannot take it.")
                }
            }
            return Answer(status: .ok, json: JSON.text(["rejected": rejected]) ?? "{}")
        } catch {
            return .error(.badRequest, error.errcode, error.message)
        }
    }

    private func write(_ answer: Answer, keepsAlive: Bool, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        var fields = HTTPHeaders([
            ("Content-Type", "application/json"), ("Content-Length", "\(answer.json.utf8.count)"),
        ])
        if !keepsAlive { fields.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: fields)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.json)))), promise: nil)
        let written = context.writeAndFlush(Self.wrapOutboundOut(.end(nil)))
        if !keepsAlive { written.assumeIsolated().whenComplete { _ in context.close(promise: nil) } }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
