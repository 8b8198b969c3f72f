import CommandKit
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// The target of a browser's redirect after a login: a local port that accepts one token.
final class SSORedirect: Sendable {
    /// The redirect URL for the homeserver. Its path is secret, so that no web page can send its own token.
    let url: String
    private let listener: any Channel
    private let tokens: AsyncStream<String>

    static func start() async throws(CommandFailure) -> SSORedirect {
        let path = "/" + (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined()
        let (tokens, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(1))
        do {
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(RequestDeadline(.seconds(30)))
                        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                        try pipeline.addHandlers([
                            IdleStateHandler(allTimeout: .seconds(30)),
                            SSORedirectHandler(path: path) { continuation.yield($0) },
                        ])
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            return SSORedirect("http://127.0.0.1:\(listener.localAddress?.port ?? 0)\(path)", listener, tokens)
        } catch {
            throw CommandFailure(.unavailable, "cannot listen for the browser on 127.0.0.1: \(error)")
        }
    }

    private init(_ url: String, _ listener: any Channel, _ tokens: AsyncStream<String>) {
        (self.url, self.listener, self.tokens) = (url, listener, tokens)
    }

    /// Waits for the token from the browser; `nil` if the task is cancelled first.
    func token() async -> String? {
        for await token in tokens { return token }
        return nil
    }

    func stop() async { try? await listener.close().get() }
}

/// A connection of the browser.
private final class SSORedirectHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let path: String
    private let deliver: @Sendable (String) -> Void
    private var uri: String?

    init(path: String, deliver: @escaping @Sendable (String) -> Void) {
        (self.path, self.deliver) = (path, deliver)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): uri = head.method == .GET ? head.uri : ""
        case .body: break
        case .end:
            guard let uri else { return }
            self.uri = nil
            let parts = URLComponents(string: uri)
            let token = parts?.queryItems?.first { $0.name == "loginToken" }?.value
            guard parts?.path == path, let token, !token.isEmpty else {
                return answer(.notFound, "There is nothing here.", context)
            }
            answer(.ok, "You can close this page, and go back to the terminal.", context)
            deliver(token)
        }
    }

    private func answer(_ status: HTTPResponseStatus, _ text: String, _ context: ChannelHandlerContext) {
        let fields = HTTPHeaders([
            ("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", "\(text.utf8.count)"),
            ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("Connection", "close"),
        ])
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: fields)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
