import Basics
import Foundation
import NIOCore
import NIOHTTP1

/// Collects the requests of one connection and writes the answers.
final class FakeConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: (FakeRequest) -> FakeAnswer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var bodySize = 0

    init(_ answer: @escaping (FakeRequest) -> FakeAnswer) {
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            (self.head, body, bodySize) = (head, [], 0)
        case .body(let part):
            bodySize += part.readableBytes
            body.append(contentsOf: part.readableBytesView.prefix(FakeRequest.keptBytes - body.count))
        case .end:
            guard let head else { return }
            let request = FakeRequest(head, body: body, bodySize: bodySize)
            let answer = answer(request)
            let version = head.version
            if answer.delay > .zero {
                context.eventLoop.assumeIsolated().scheduleTask(
                    in: .nanoseconds(answer.delay.wholeNanoseconds)
                ) { self.write(answer, to: request, version, context) }
            } else {
                writeWhenReleased(answer, to: request, version, context)
            }
        }
    }

    private func writeWhenReleased(
        _ answer: FakeAnswer, to request: FakeRequest, _ version: HTTPVersion, _ context: ChannelHandlerContext
    ) {
        guard answer.isHeld?() == true else { return write(answer, to: request, version, context) }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(5)) {
            self.writeWhenReleased(answer, to: request, version, context)
        }
    }

    private func write(
        _ answer: FakeAnswer, to request: FakeRequest, _ version: HTTPVersion, _ context: ChannelHandlerContext
    ) {
        guard context.channel.isActive else { return }
        var bytes = answer.body[...]
        var isCut = false
        switch answer.fault {
        case .none: break
        case .silence: return
        case .drop:
            context.close(promise: nil)
            return
        case .cut(let count):
            bytes = bytes.prefix(count)
            isCut = true
        }
        var fields = HTTPHeaders(answer.fields.map { ($0.name, $0.value) })
        fields.add(name: "Content-Length", value: String(answer.body.count))
        let status = HTTPResponseStatus(statusCode: answer.status)
        context.write(
            Self.wrapOutboundOut(.head(HTTPResponseHead(version: version, status: status, headers: fields))),
            promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        if isCut {
            context.close(promise: nil)
        } else {
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

extension FakeRequest {
    init(_ head: HTTPRequestHead, body: [UInt8], bodySize: Int) {
        let parts = head.uri.split(separator: "?", maxSplits: 1)
        let rawPath = String(parts.first ?? "")
        let query = parts.count > 1 ? parts[1].split(separator: "&") : []
        self.init(
            method: head.method.rawValue, rawPath: rawPath,
            path: rawPath.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
                $0.removingPercentEncoding ?? "?"
            },
            query: query.map { parameter in
                let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (
                    pair[0].removingPercentEncoding ?? "?", pair.count > 1 ? pair[1].removingPercentEncoding ?? "?" : ""
                )
            }, fields: head.headers.map { ($0.name, $0.value) }, body: body, bodySize: bodySize)
    }
}
