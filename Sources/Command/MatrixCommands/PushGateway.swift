import CommandKit
import NIOCore
import NIOHTTP1
import NIOPosix
import PusherMockServer

/// Receives push notifications from homeservers (Matrix Push Gateway API) on an HTTP port.
///
/// It confirms a notification as soon as it is queued in ``notifications``. If the queue is full, the homeserver is
/// asked to retry later, so that none is lost. There is no authentication: anyone who can reach the port can push.
final class PushGateway: Sendable {
    struct Configuration: Sendable {
        /// The address to bind. The default can only be reached from this machine.
        var host = "127.0.0.1"
        /// The port to bind; 0 chooses a free one.
        var port = 0
        /// The maximum size of a request body, in bytes; larger ones are refused with 413.
        var maximumBodySize = 256 << 10
        /// The maximum number of queued notifications; more are refused with 429.
        var bufferSize = 1_000
        /// The maximum number of connections; further ones are closed at once.
        var maximumConnections = 256
        /// The idle timeout of a connection.
        var idleTimeout = Duration.seconds(60)
        /// The time limit for a request to arrive completely.
        var requestTimeout = Duration.seconds(30)
        /// Returns whether to serve a device. The keys of others are rejected, so that homeservers forget them.
        var accepts: @Sendable (PushNotification.Device) -> Bool = { _ in true }
    }

    /// The path that homeservers require at the end of a gateway's URL.
    static let path = "/_matrix/push/v1/notify"

    let host: String
    /// The bound port.
    let port: Int
    /// The notifications in order of arrival, until ``stop()``. For one reader.
    let notifications: AsyncStream<PushNotification>
    private let listener: any Channel
    private let connections: NIOLoopBound<Connections>
    private let continuation: AsyncStream<PushNotification>.Continuation

    /// Binds the port and starts receiving.
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

    /// Returns the system's error message without the names of its calls.
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

    /// The URL of the gateway for a pusher.
    var url: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)\(Self.path)" }

    /// Closes all connections, and ends ``notifications`` after the queued ones. A second call does nothing.
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
