import Basics
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import PusherProtocol

/// Posts the webhooks of one application. Confined to the server's event loop.
final class WebhookSender {
    private static let timeout = TimeAmount.seconds(10)

    private let target: WebhookTarget
    private let credentials: AppCredentials
    private let eventLoop: any EventLoop
    private let log: (PusherMockServer.LogEntry) -> Void
    private var queue: WebhookQueue
    /// The pending requests, with their connections once open.
    private var exchanges: [WebhookQueue.ID: (any Channel)?] = [:]
    private var isStopped = false

    /// Returns `nil` if there is no URL to post to.
    init?(
        app: PusherMockServer.App, eventLoop: any EventLoop, log: @escaping (PusherMockServer.LogEntry) -> Void
    ) {
        guard let webhooks = app.webhooks, let target = webhooks.url.flatMap(WebhookTarget.init) else { return nil }
        self.target = target
        credentials = AppCredentials(key: app.key, secret: app.secret)
        self.eventLoop = eventLoop
        self.log = log
        queue = WebhookQueue(configuration: webhooks)
    }

    func tell(_ events: [WebhookEvent]) {
        carryOut(queue.add(events, now: .now, time: Self.time))
    }

    func stop() {
        isStopped = true
        for channel in exchanges.values { channel?.close(promise: nil) }
    }

    /// The current time in milliseconds since 1970.
    private static var time: Int64 { (Date().timeIntervalSince1970 * 1000).clampedToInt64 }

    private func carryOut(_ actions: [WebhookQueue.Action]) {
        guard !isStopped else { return }
        for action in actions {
            switch action {
            case .post(let id, let body): post(id, body)
            case .wait(let id, let delay):
                eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(bounded: delay)) {
                    self.carryOut(self.queue.waited(id))
                }
            }
        }
    }

    private func post(_ id: WebhookQueue.ID, _ body: String) {
        exchanges[id] = .some(nil)
        let answer = eventLoop.makePromise(of: Int.self)
        let timeout = eventLoop.assumeIsolated().scheduleTask(in: Self.timeout) {
            answer.fail(ChannelError.connectTimeout(Self.timeout))
        }
        answer.futureResult.assumeIsolated().whenComplete { result in
            timeout.cancel()
            self.exchanges.removeValue(forKey: id)??.close(promise: nil)
            guard !self.isStopped else { return }
            let status = try? result.get()
            self.log(.webhookSent(body: body, app: self.credentials.key, status: status))
            let next = self.queue.answered(id, status: status, now: .now, time: Self.time)
            if let reason = Self.reasonOfFailure(result) { self.logFailure(of: id, reason, status: status, next: next) }
            self.carryOut(next)
        }
        connect(id, request: head(of: body), body: body, answer: answer)
    }

    private func logFailure(of id: WebhookQueue.ID, _ reason: String, status: Int?, next: [WebhookQueue.Action]) {
        let retryDelay = next.compactMap { action -> Duration? in
            if case .wait(id, let delay) = action { delay } else { nil }
        }.first
        log(
            .webhookFailed(
                PusherMockServer.WebhookFailure(
                    app: credentials.key, status: status, reason: reason, retryDelay: retryDelay)))
    }

    /// Returns the reason in words; `nil` if the receiver has accepted the request.
    private static func reasonOfFailure(_ result: Result<Int, any Error>) -> String? {
        switch result {
        case .success(let status): (200..<300).contains(status) ? nil : "the receiver answered with status \(status)"
        case .failure(ChannelError.connectTimeout): "no answer within \(timeout.nanoseconds / 1_000_000_000) s"
        case .failure(ChannelError.eof): "the receiver closed the connection without an answer"
        case .failure(let error as NIOConnectionError): reasonOfFailure(error)
        case .failure(let error as IOError): systemWords(for: error)
        case .failure: "the connection failed"
        }
    }

    private static func reasonOfFailure(_ error: NIOConnectionError) -> String {
        guard let attempt = error.connectionErrors.first else { return "the receiver's host is unknown" }
        return reasonOfFailure(.failure(attempt.error)) ?? "the connection failed"
    }

    private static func systemWords(for error: IOError) -> String {
        "cannot connect: \(String(cString: strerror(error.errnoCode)))"
    }

    private func head(of body: String) -> HTTPRequestHead {
        let port = target.port == (target.isSecure ? 443 : 80) ? "" : ":\(target.port)"
        let host = target.host.contains(":") ? "[\(target.host)]" : target.host
        return HTTPRequestHead(
            version: .http1_1, method: .POST, uri: target.requestTarget,
            headers: [
                "Host": host + port, "Content-Type": "application/json", "Content-Length": "\(body.utf8.count)",
                "X-Pusher-Key": credentials.key,
                "X-Pusher-Signature": credentials.webhookSignature(body: Array(body.utf8)), "Connection": "close",
            ])
    }

    private func connect(
        _ id: WebhookQueue.ID, request head: HTTPRequestHead, body: String, answer: EventLoopPromise<Int>
    ) {
        let (target, timeout) = (target, Self.timeout)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if target.isSecure { try WebhookTLS.addHandler(to: pipeline, host: target.host) }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(WebhookExchange(head: head, body: body, answer: answer))
                }
            }
            .connect(host: target.host, port: target.port)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel): self.opened(channel, for: id)
                case .failure(let error): answer.fail(error)
                }
            }
    }

    private func opened(_ channel: any Channel, for id: WebhookQueue.ID) {
        if isStopped || exchanges[id] == nil {
            channel.close(promise: nil)
        } else {
            exchanges[id] = channel
        }
    }
}

/// Writes one request and waits for the status of its answer.
private final class WebhookExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let head: HTTPRequestHead
    private let body: String
    private let answer: EventLoopPromise<Int>
    private var status: Int?

    init(head: HTTPRequestHead, body: String, answer: EventLoopPromise<Int>) {
        self.head = head
        self.body = body
        self.answer = answer
    }

    func channelActive(context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): status = Int(head.status.code)
        case .body: break
        case .end: if let status { answer.succeed(status) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        answer.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.fail(ChannelError.eof)
        context.fireChannelInactive()
    }
}
