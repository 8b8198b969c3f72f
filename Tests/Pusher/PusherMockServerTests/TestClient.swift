import Basics
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import PusherMockServer
import Transport

/// An observation of a client.
enum Received: Equatable, Sendable {
    case text(String)
    /// A fragment of a text message.
    case fragment(String, isLast: Bool)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    /// A close frame. Code 1005 means an empty one.
    case close(code: Int, reason: String)
    /// Bytes that are not a WebSocket frame.
    case garbage
    case end
}

/// A WebSocket client based on SwiftNIO that answers nothing by itself.
final class TestClient: Sendable {
    /// The server did not upgrade.
    struct Refused: Error {}

    private let channel: any Channel
    private let received: AsyncStream<Received>

    private let reads: Lock<Int>

    private init(channel: any Channel, received: AsyncStream<Received>, reads: Lock<Int>) {
        self.channel = channel
        self.reads = reads
        self.received = received
    }

    /// - Parameter tls: Creates the TLS handler.
    static func connect(
        to server: PusherMockServer, path: String = "/app/\(PusherMockServer.App.defaultKey)?protocol=7",
        fields: [(String, String)] = [], tls: (@Sendable () throws -> any ChannelHandler)? = nil
    ) async throws -> TestClient {
        let (stream, continuation) = AsyncStream.makeStream(of: Received.self)
        let reads = Lock(0)
        let upgrade = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: server.host, port: server.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ReadCounter(reads))
                    if let tls { try channel.pipeline.syncOperations.addHandler(tls()) }
                    return try configure(channel, path: path, fields: fields, continuation: continuation)
                }
            }
        let channel = try await upgrade.get()
        return TestClient(channel: channel, received: stream, reads: reads)
    }

    private static func configure(
        _ channel: any Channel, path: String, fields: [(String, String)],
        continuation: AsyncStream<Received>.Continuation
    ) throws -> EventLoopFuture<any Channel> {
        let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(
            maxFrameSize: 1 << 24, enableAutomaticErrorHandling: false
        ) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(FrameRecorder(continuation))
                return channel
            }
        }
        var headers = HTTPHeaders([("Host", "localhost"), ("Content-Length", "0")])
        headers.add(contentsOf: fields)
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
            upgradeConfiguration: .init(upgradeRequestHead: head, upgraders: [upgrader]) { channel in
                channel.eventLoop.makeFailedFuture(Refused())
            })
        configuration.leftOverBytesStrategy = .forwardBytes  // the first frame comes along with the 101
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: configuration)
    }

    /// Returns the next observation; `.end` forever once the connection has ended.
    func next() async -> Received {
        var iterator = received.makeAsyncIterator()
        return await iterator.next() ?? .end
    }

    /// Returns the next text; `nil` if something else comes.
    func text() async -> String? {
        guard case .text(let text) = await next() else { return nil }
        return text
    }

    /// Returns everything up to the end of the connection.
    func rest() async -> [Received] {
        var seen: [Received] = []
        while true {
            let next = await next()
            if next == .end { return seen }
            seen.append(next)
        }
    }

    /// The number of reads, of any content.
    func readCount() -> Int { reads.withLock { $0 } }

    func send(_ text: String) async throws {
        try await send(.text, Array(text.utf8))
    }

    func send(_ opcode: WebSocketOpcode, _ bytes: [UInt8], fin: Bool = true, masked: Bool = true) async throws {
        try await channel.writeAndFlush(
            WebSocketFrame(
                fin: fin, opcode: opcode, maskKey: masked ? .random() : nil, data: ByteBuffer(bytes: bytes)))
    }

    /// Leaves further input in the socket.
    func stopReading() async throws {
        try await channel.setOption(.autoRead, value: false).get()
    }

    /// Ends TCP without a close frame; the server may have been faster.
    func drop() async throws {
        do { try await channel.close() } catch ChannelError.alreadyClosed {}
    }

    /// Reads `pusher:connection_established` and returns its socket ID.
    func socketID() async -> String {
        let text = await text() ?? ""
        return text.split(separator: "\\\"").dropFirst(3).first.map(String.init) ?? ""
    }

    static func established(
        to server: PusherMockServer, key: String = PusherMockServer.App.defaultKey
    ) async throws -> (client: TestClient, socketID: String) {
        let client = try await connect(to: server, path: "/app/\(key)?protocol=7")
        return (client, await client.socketID())
    }
}

private final class ReadCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let count: Lock<Int>

    init(_ count: Lock<Int>) {
        self.count = count
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count.withLock { $0 += 1 }
        context.fireChannelRead(data)
    }
}

private final class FrameRecorder: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let continuation: AsyncStream<Received>.Continuation

    init(_ continuation: AsyncStream<Received>.Continuation) {
        self.continuation = continuation
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        var payload = frame.data
        let bytes = Array(payload.readableBytesView)
        let text = String(decoding: bytes, as: UTF8.self)
        switch frame.opcode {
        case .text where frame.fin: continuation.yield(.text(text))
        case .text, .continuation: continuation.yield(.fragment(text, isLast: frame.fin))
        case .binary: continuation.yield(.binary(bytes))
        case .ping: continuation.yield(.ping(bytes))
        case .pong: continuation.yield(.pong(bytes))
        case .connectionClose:
            let code = payload.readInteger(as: UInt16.self).map(Int.init) ?? 1005
            let reason = payload.readString(length: payload.readableBytes) ?? ""
            continuation.yield(.close(code: code, reason: reason))
        case _: continuation.yield(.garbage)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOWebSocketError { continuation.yield(.garbage) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        continuation.finish()
    }
}
