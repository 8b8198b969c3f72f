import Basics
package import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import TestSupport

/// A homeserver that gives the answers a test sets, and records its requests.
///
///     let server = try await FakeHomeserver.start()
///     server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
///     server.on("PUT", "v3/rooms/*/send/*/*", [.drop, .json(#"{"event_id":"$1"}"#)])
///
/// It listens until it is stopped, or until the process ends.
///
/// A path without a leading `/` is relative to `/_matrix/client/`; `*` matches one segment, `**` at the end matches the
/// rest. The route that was added last wins; requests without a route get 404 `M_UNRECOGNIZED`.
package final class FakeHomeserver: Sendable {
    package typealias Handler = @Sendable (FakeRequest) -> FakeAnswer

    private struct Route {
        let method: String
        let pieces: [Substring]
        let handler: Handler
    }

    private struct State {
        var routes: [Route] = []
        var gate: (@Sendable (FakeRequest) -> FakeAnswer?)?
        var requests: [FakeRequest] = []
    }

    private let listener: any Channel
    private let state: Lock<State>
    private let connections: Connections

    private let scheme: String

    private init(_ listener: any Channel, _ state: Lock<State>, _ connections: Connections, scheme: String) {
        (self.listener, self.state, self.connections, self.scheme) = (listener, state, connections, scheme)
    }

    /// - Parameter leaf: Enables TLS with this certificate.
    package static func start(tls leaf: CertificateAuthority.Leaf? = nil) async throws -> FakeHomeserver {
        let tls = try leaf.map { leaf in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMFile(leaf.certificate).map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(file: leaf.privateKey, format: .pem))))
        }
        let state = Lock(State())
        let connections = Connections()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(
                        FakeConnection { answer(to: $0, state) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return FakeHomeserver(listener, state, connections, scheme: tls == nil ? "http" : "https")
    }

    /// `http://127.0.0.1:port`, or `https`.
    package var address: String { "\(scheme)://127.0.0.1:\(listener.localAddress?.port ?? 0)" }

    /// ``address`` as a URL.
    package var url: URL { URL(string: address) ?? URL(filePath: "/") }

    /// Closes the listener and all connections.
    package func stop() async {
        try? await listener.close().get()
        connections.closeAll()
    }

    /// Closes all connections without notice; new ones are accepted.
    package func dropConnections() { connections.closeAll() }

    // MARK: Script

    /// Answers matching requests with a handler.
    package func on(_ method: String, _ path: String, _ handler: @escaping Handler) {
        let path = path.hasPrefix("/") ? path : "/_matrix/client/" + path
        let route = Route(method: method, pieces: path.split(separator: "/"), handler: handler)
        state.withLock { $0.routes.insert(route, at: 0) }
    }

    /// Answers matching requests always with the same answer.
    package func on(_ method: String, _ path: String, _ answer: FakeAnswer) {
        on(method, path) { _ in answer }
    }

    /// Answers matching requests with one answer after the other; the last one repeats.
    package func on(_ method: String, _ path: String, _ answers: [FakeAnswer]) {
        let left = Lock(answers[...])
        on(method, path) { _ in
            left.withLock { left in
                let next = left.first ?? .unrecognized
                if left.count > 1 { left.removeFirst() }
                return next
            }
        }
    }

    /// Sets a handler that runs before all routes; `nil` passes the request on to them.
    package func setGate(_ gate: (@Sendable (FakeRequest) -> FakeAnswer?)?) {
        state.withLock { $0.gate = gate }
    }

    private static func answer(to request: FakeRequest, _ state: Lock<State>) -> FakeAnswer {
        let (gate, handler) = state.withLock { state in
            state.requests.append(request)
            let pieces = request.rawPath.split(separator: "/")
            let route = state.routes.first { $0.method == request.method && matches($0.pieces[...], pieces[...]) }
            return (state.gate, route?.handler)
        }
        // Homeservers refuse a filter that is neither an id nor JSON.
        if let filter = request.parameter("filter"), filter.hasPrefix("{"),
            (try? JSONSerialization.jsonObject(with: Data(filter.utf8))) == nil
        {
            return .error(400, "M_NOT_JSON")
        }
        return gate?(request) ?? handler?(request) ?? .unrecognized
    }

    private static func matches(_ pattern: ArraySlice<Substring>, _ pieces: ArraySlice<Substring>) -> Bool {
        guard let first = pattern.first else { return pieces.isEmpty }
        if first == "**" { return true }
        guard let piece = pieces.first, first == "*" || first == piece else { return false }
        return matches(pattern.dropFirst(), pieces.dropFirst())
    }

    /// Reports every room as not encrypted, overriding earlier routes. Clients check this before they send.
    package func hasPlainRooms() {
        on("GET", Self.encryption, .error(404, "M_NOT_FOUND"))
    }

    private static let encryption = "v3/rooms/*/state/m.room.encryption"

    // MARK: Requests

    /// All requests except checks whether a room is encrypted.
    package var requestsProper: [FakeRequest] {
        requests.filter { !$0.rawPath.contains("/state/m.room.encryption") }
    }

    /// All requests so far, in the order in which they were completed.
    package var requests: [FakeRequest] { state.withLock { $0.requests } }

    /// Whether any received path, query, field or body contains the text.
    package func hasReceived(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return requests.contains { request in
            request.body.firstRange(of: bytes) != nil || request.rawPath.contains(text)
                || (request.path + (request.query + request.fields).flatMap { [$0.name, $0.value] })
                    .contains { $0.contains(text) }
        }
    }

    /// The requests with a method to a path.
    package func requests(_ method: String, _ path: String) -> [FakeRequest] {
        let path = path.hasPrefix("/") ? path : "/_matrix/client/" + path
        let pieces = path.split(separator: "/")
        return requests.filter {
            $0.method == method && Self.matches(pieces[...], $0.rawPath.split(separator: "/")[...])
        }
    }

    /// Waits until this many requests have arrived.
    package func hasBeenAsked(_ method: String, _ path: String, times count: Int = 1) async -> Bool {
        await eventually { self.requests(method, path).count >= count }
    }
}

/// Open channels.
final class Connections: Sendable {
    private let channels = Lock<[ObjectIdentifier: any Channel]>([:])

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } }
    }

    func closeAll() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
