import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// A Pusher Channels server for tests and development, in this process.
///
///     let server = try await PusherMockServer.start()
///     // connect clients to server.host and server.port with the key PusherMockServer.App.defaultKey
///     await server.publish(event: "greeting", channel: "my-channel", data: "hello")
///     #expect(await server.waitFor { $0.connectionCount == 0 })
///     await server.stop()
///
/// One port serves WebSockets (`/app/{key}`), the HTTP API (`/apps/{id}/…`) and auth endpoints (`/pusher/auth` and
/// `/pusher/user-auth`) that sign every request: not for production. A server runs until ``stop()``, even without
/// references to it.
public final class PusherMockServer: Sendable {
    /// The configuration with the port actually bound: starting with it again after ``stop()`` uses the same port.
    public let configuration: Configuration
    /// A single loop, which gives all events one order.
    private let eventLoop: any EventLoop
    private let core: NIOLoopBound<ServerCore>
    private let listener: any Channel

    private init(
        configuration: Configuration, eventLoop: any EventLoop, core: NIOLoopBound<ServerCore>, listener: any Channel
    ) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.core = core
        self.listener = listener
    }

    /// Binds the port and starts serving.
    ///
    /// - Throws: An error if the configuration is inconsistent, a certificate or private key is unusable, or the
    ///   address cannot be bound; see ``PusherMockServerError/code``.
    public static func start(_ configuration: Configuration = Configuration()) async throws(PusherMockServerError)
        -> PusherMockServer
    {
        try configuration.validate()
        let tls = try configuration.tls.map { files throws(PusherMockServerError) in try ServerTLS(files) }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let listener: any Channel
        let core: NIOLoopBound<ServerCore>
        do {
            core = try await eventLoop.submit {
                NIOLoopBound(ServerCore(configuration: configuration, eventLoop: eventLoop), eventLoop: eventLoop)
            }.get()
            try await eventLoop.submit { core.value.startScript() }.get()
            listener = try await ServerBootstrap(group: eventLoop)
                .serverChannelOption(.backlog, value: 4096)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let core = core.value
                        try channel.pipeline.syncOperations.addHandler(AcceptPause { core.acceptFailed($0) })
                    }
                }
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try initialize(channel, core: core.value, tls: tls) }
                }
                .bind(host: configuration.host, port: configuration.port).get()
        } catch {
            throw .cannotListen(on: configuration.host, port: configuration.port, because: error)
        }
        var configuration = configuration
        configuration.port = listener.localAddress?.port ?? configuration.port
        return PusherMockServer(configuration: configuration, eventLoop: eventLoop, core: core, listener: listener)
    }

    /// The bound address.
    public var host: String { configuration.host }
    /// The bound port, even if the configuration's port is 0.
    public var port: Int { configuration.port }

    /// Whether only this machine can reach the server. Depends on the bound address, not on the host's name.
    package var isOnLoopback: Bool {
        guard let address = listener.localAddress?.ipAddress else { return false }
        return address == "::1" || address.hasPrefix("127.")
    }

    /// Stops listening and drops every connection without a close frame, as if the process had been killed.
    ///
    /// When it returns, all connections are closed and the port is free. Stopping a second time does nothing.
    public func stop() async {
        try? await listener.close().get()
        let connections = await onEventLoop { $0.stop() }
        for connection in connections { try? await connection.get() }
        await onEventLoop { $0.finish() }
    }

    /// Runs `body` on the event loop, which owns all state.
    func onEventLoop<Result: Sendable>(_ body: @escaping @Sendable (ServerCore) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            eventLoop.execute { continuation.resume(returning: body(self.core.value)) }
        }
    }

    func execute(_ body: @escaping @Sendable (ServerCore) -> Void) {
        eventLoop.execute { body(self.core.value) }
    }

    func makePromise<Value>(of type: Value.Type) -> EventLoopPromise<Value> {
        eventLoop.makePromise(of: type)
    }

    // MARK: Pipeline

    private static func initialize(_ channel: any Channel, core: ServerCore, tls: ServerTLS?) throws {
        guard core.accepted(channel) else {
            channel.close(promise: nil)
            return
        }
        let pipeline = channel.pipeline.syncOperations
        try tls?.addHandler(to: pipeline)
        let http = HTTPHandler(core: core)
        let upgrade = WebSocketUpgrade(core: core, http: http)
        try pipeline.configureHTTPServerPipeline(
            withServerUpgrade: (upgraders: [upgrade.upgrader], completionHandler: { _ in }))
        try pipeline.addHandler(http)
    }
}
