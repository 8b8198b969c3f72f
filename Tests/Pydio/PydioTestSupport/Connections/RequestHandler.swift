import Basics
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Collects the requests of one connection and writes the answers.
final class RequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let core: PydioServerCore
    private let isSecure: Bool
    private var head: HTTPRequestHead?
    private var body: RequestBody?
    private var bodySize = 0
    /// The unsent bytes of a file, where the kernel cannot send them.
    private var reading: FileReader?
    /// Set if the pending request asked for a WebSocket and was refused.
    var refusal: FakePydioAnswer?

    init(core: PydioServerCore, isSecure: Bool) {
        (self.core, self.isSecure) = (core, isSecure)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            (self.head, bodySize) = (head, 0)
            body = RequestBody(head)
            if head.headers.first(name: "Expect")?.lowercased() == "100-continue" {
                let answer = HTTPResponseHead(version: head.version, status: .continue)
                context.writeAndFlush(Self.wrapOutboundOut(.head(answer)), promise: nil)
            }
        case .body(let part):
            bodySize += part.readableBytes
            body?.append(part)
        case .end:
            guard let head else { return }
            let body = body
            (self.head, self.body) = (nil, nil)
            reply(to: head, body, context)
        }
    }

    private func reply(to head: HTTPRequestHead, _ body: RequestBody?, _ context: ChannelHandlerContext) {
        let address = context.channel.remoteAddress?.ipAddress ?? ""
        if let refusal {
            self.refusal = nil
            return write(refusal, to: head, context)
        }
        guard let request = body?.request(head, size: bodySize, address: address) else {
            return write(.html("The body cannot be taken", status: 413), to: head, context)
        }
        core.answer(request, on: context.eventLoop) { answer in
            guard answer.delay > .zero else { return self.write(answer, to: head, context) }
            context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(answer.delay.wholeNanoseconds)) {
                self.write(answer, to: head, context)
            }
        }
    }

    private func write(_ answer: FakePydioAnswer, to head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        var count = answer.body.count
        var isCut = false
        switch answer.fate {
        case .arrives: break
        case .silence: return
        case .drop:
            context.close(promise: nil)
            return
        case .cut(let bytes):
            count = min(bytes, count)
            isCut = true
        }
        var fields = HTTPHeaders(answer.fields.map { ($0.name, $0.value) })
        if !fields.contains(name: "Content-Length") {
            fields.add(name: "Content-Length", value: String(answer.body.count))
        }
        if !head.isKeepAlive { fields.add(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: answer.status)
        context.write(
            Self.wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: status, headers: fields))),
            promise: nil)
        let closes = isCut || !head.isKeepAlive
        switch answer.body {
        case .bytes(let bytes):
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes[..<count])))), promise: nil)
            finish(closes: closes, isCut: isCut, context)
        case .file(let file, let range):
            let range = range.prefix(count)
            guard !isSecure else {
                reading = FileReader(file, range) { self.finish(closes: closes, isCut: isCut, context) }
                return readOn(context)
            }
            guard let descriptor = try? file.duplicate() else { return context.close(promise: nil) }
            let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor)
            let region = FileRegion(fileHandle: handle, readerIndex: range.lowerBound, endIndex: range.upperBound)
            context.write(Self.wrapOutboundOut(.body(.fileRegion(region)))).assumeIsolated().whenComplete { _ in
                try? handle.close()
            }
            finish(closes: closes, isCut: isCut, context)
        }
    }

    private func finish(closes: Bool, isCut: Bool, _ context: ChannelHandlerContext) {
        // A body without its end is incomplete, as if cut.
        let written =
            isCut
            ? context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))))
            : context.writeAndFlush(Self.wrapOutboundOut(.end(nil)))
        if closes { written.assumeIsolated().whenComplete { _ in context.close(promise: nil) } }
    }

    // MARK: Files over TLS

    /// Reads no more into memory than the peer accepts.
    private func readOn(_ context: ChannelHandlerContext) {
        while context.channel.isWritable, let reading {
            guard let bytes = reading.next() else {
                self.reading = nil
                return reading.completion()
            }
            context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        readOn(context)
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // From here on a refused upgrade is an ordinary request.
        if error is NIOWebSocketUpgradeError { return }
        context.close(promise: nil)
    }
}

/// Reads a part of a file piece by piece.
private final class FileReader {
    private let file: StoredFile
    private var range: Range<Int>
    let completion: () -> Void

    init(_ file: StoredFile, _ range: Range<Int>, completion: @escaping () -> Void) {
        (self.file, self.range, self.completion) = (file, range, completion)
    }

    /// Returns `nil` at the end.
    func next() -> [UInt8]? {
        let bytes = file.read(at: range.lowerBound, count: min(range.count, 256 << 10))
        range = (range.lowerBound + bytes.count)..<range.upperBound
        return bytes.isEmpty ? nil : bytes
    }
}
