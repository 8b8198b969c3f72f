import Basics
package import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import TestSupport

/// An in-process Pydio server for tests, with sessions, files, messages and faults.
///
///     let server = try await FakePydioServer.start()
///     server.addFile("/plan.txt", Array("…".utf8))
///     server.inject(.htmlPage(), into: "ls", times: 1)
///     // log in to server.url as `ada` with "open sesame"
///     #expect(server.count("login") == 1)
///
/// It shares no code with the client, so that both check each other. It listens until it is stopped, or until the
/// process ends.
package final class FakePydioServer: Sendable {
    let core: PydioServerCore
    private let listener: any Channel
    private let scheme: String

    private init(_ core: PydioServerCore, _ listener: any Channel, scheme: String) {
        (self.core, self.listener, self.scheme) = (core, listener, scheme)
        let address = origin
        core.state.withLock { $0.origin = address }
    }

    /// Binds the host and port of the configuration; port 0 chooses a free one.
    package static func start(_ configuration: Configuration = Configuration()) async throws -> FakePydioServer {
        let tls = try configuration.tls.map { leaf in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMFile(leaf.certificate).map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(file: leaf.privateKey, format: .pem))))
        }
        let core = PydioServerCore(configuration)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 256 << 10))
            .childChannelInitializer { channel in
                core.connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    let handler = RequestHandler(core: core, isSecure: tls != nil)
                    let upgrade = WebSocketUpgrade(core: core, http: handler, eventLoop: channel.eventLoop)
                    try pipeline.configureHTTPServerPipeline(
                        withPipeliningAssistance: false,
                        withServerUpgrade: (upgraders: [upgrade.upgrader], completionHandler: { _ in }))
                    try pipeline.addHandler(handler)
                }
            }
            .bind(host: configuration.host, port: configuration.port).get()
        return FakePydioServer(core, listener, scheme: tls == nil ? "http" : "https")
    }

    /// `http://address:port`, or `https`.
    package var origin: String { "\(scheme)://\(listener.localAddress?.ipAddress ?? "127.0.0.1"):\(port)" }
    package var port: Int { listener.localAddress?.port ?? 0 }
    /// The server's URL for clients, with the base path and without a trailing slash.
    package var url: URL { URL(string: address) ?? URL(filePath: "/") }
    /// ``url`` as text.
    package var address: String { origin + core.state.withLock { $0.configuration.basePath } }

    /// Closes the listener and all connections.
    package func stop() async {
        try? await listener.close().get()
        core.release()
        core.connections.closeAll()
    }

    /// Closes all connections without notice; new ones are accepted.
    package func dropConnections() { core.connections.closeAll() }
}
