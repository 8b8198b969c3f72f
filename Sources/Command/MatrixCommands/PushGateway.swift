import CommandKit
import NIOCore
import NIOHTTP1
import NIOPosix
import PusherMockServer

/// Receives what homeservers push (Matrix Push Gateway API) on an HTTP port.
///
/// It answers as soon as a notification waits in ``notifications``. When too many wait there, the homeserver is told to
/// try again later, so that nothing is lost here. It asks nobody who they are: whoever reaches the port may push.
final class PushGateway: Sendable {
    struct Configuration: Sendable {
        /// The default is reachable from this machine only.
        var host = "127.0.0.1"
        /// 0 takes any free one.
        var port = 0
        /// Bytes of a request's body; more are refused with 413.
        var maximumBodySize = 256 << 10
        /// Notifications that may wait to be read; more are refused with 429.
        var bufferSize = 1_000
        /// Connections at a time; more are closed at once.
        var maximumConnections = 256
        /// How long a connection may stand idle.
        var idleTimeout = Duration.seconds(60)
        /// How long a request may take to arrive, however many bytes of it come.
        var requestTimeout = Duration.seconds(30)
        /// Whether a device is one to be served. The keys of others are rejected: homeservers forget them then.
        var accepts: @Sendable (PushNotification.Device) -> Bool = { _ in true }
    }

    /// What homeservers take for the gateway of a pusher: its URL must end in it.
    static let path = "/_matrix/push/v1/notify"

    let host: String
    /// The port that was bound.
    let port: Int
    /// In the order in which they came, until ``stop()``. For one reader.
    let notifications: AsyncStream<PushNotification>
    private let listener: any Channel
    private let connections: NIOLoopBound<Connections>
    private let continuation: AsyncStream<PushNotification>.Continuation

    /// Binds the port, and receives from then on.
    static func start(_ configuration: Configuration = Configuration()) async throws(CommandFailure) -> PushGateway {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PushNotification.self, bufferingPolicy: .bufferingOldest(configuration.bufferSize))
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        do {
            let connections = try await eventLoop.submit {
                NIOLoopBound(Connections(limit: configuration.maximumConnections), eventLoop: eventLoop)
            }.get()
            let listener = try await ServerBootstrap(group: eventLoop)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AcceptPause())
                    }
                }
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        guard connections.value.accept(channel) else { return channel.close(promise: nil) }
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(RequestDeadline(.nanoseconds(configuration.requestTimeout.nanoseconds)))
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandlers([
                            IdleStateHandler(readTimeout: .nanoseconds(configuration.idleTimeout.nanoseconds)),
                            PushGatewayHandler(configuration) { continuation.yield($0) },
                        ])
                    }
                }
                .bind(host: configuration.host, port: configuration.port).get()
            return PushGateway(configuration, listener, connections, stream, continuation)
        } catch {
            throw CommandFailure(
                .unavailable,
                "cannot listen on \(configuration.host):\(configuration.port): \(Self.reason(error)); choose another one with "
                    + "--port; --port 0 takes any free one")
        }
    }

    /// In the words of the system, without the names of its calls.
    private static func reason(_ error: any Error) -> String {
        (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
    }

    private init(
        _ configuration: Configuration, _ listener: any Channel, _ connections: NIOLoopBound<Connections>,
        _ stream: AsyncStream<PushNotification>, _ continuation: AsyncStream<PushNotification>.Continuation
    ) {
        host = configuration.host
        port = listener.localAddress?.port ?? configuration.port
        (self.listener, self.connections, notifications) = (listener, connections, stream)
        self.continuation = continuation
    }

    /// The URL that homeservers are given for a pusher.
    var url: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)\(Self.path)" }

    /// Drops all connections, and ends ``notifications`` after those that wait there. Twice does nothing.
    func stop() async {
        try? await listener.close().get()
        try? await listener.eventLoop.submit { self.connections.value.close() }.get()
        continuation.finish()
    }

    /// Confined to the event loop.
    private final class Connections {
        private let limit: Int
        private var open: [ObjectIdentifier: any Channel] = [:]

        init(limit: Int) {
            self.limit = limit
        }

        func accept(_ channel: any Channel) -> Bool {
            guard open.count < limit else { return false }
            let id = ObjectIdentifier(channel)
            open[id] = channel
            channel.closeFuture.assumeIsolated().whenComplete { _ in self.open[id] = nil }
            return true
        }

        func close() {
            for channel in open.values { channel.close(promise: nil) }
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
