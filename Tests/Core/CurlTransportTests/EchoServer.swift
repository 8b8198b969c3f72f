import Basics
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import TestSupport

/// SwiftNIO's WebSocket server, which echoes every message.
final class EchoServer: Sendable {
    private let channel: any Channel
    private let connections = Lock<[any Channel]>([])

    var port: Int { channel.localAddress?.port ?? 0 }

    init(host: String = "127.0.0.1", tls leaf: CertificateAuthority.Leaf? = nil) async throws {
        let tls = try leaf.map { leaf in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMFile(leaf.certificate).map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(file: leaf.privateKey, format: .pem))))
        }
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 4096)
            .childChannelInitializer { [connections] channel in
                connections.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOWebSocketServerUpgrader(
                        maxFrameSize: 1 << 24,
                        shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
                        upgradePipelineHandler: { channel, _ in
                            channel.eventLoop.makeCompletedFuture {
                                try channel.pipeline.syncOperations.addHandler(EchoHandler())
                            }
                        })
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
                }
            }
            .bind(host: host, port: 0).get()
    }

    func stop() async { try? await channel.close() }

    /// Starts or stops reading on all open connections.
    func setReading(_ isOn: Bool) async throws {
        for channel in connections.withLock({ $0 }) { try await channel.setOption(.autoRead, value: isOn).get() }
    }
}

private final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text, .binary:
            let echo = WebSocketFrame(fin: frame.fin, opcode: frame.opcode, data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(echo), promise: nil)
        case .connectionClose:
            let echo = WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(echo), promise: nil)
            context.close(promise: nil)
        default: break
        }
    }
}
