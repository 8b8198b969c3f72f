import PusherMockServer
import PusherSwift
import TestSupport
import Testing
import Transport

/// Keeps what a client tells, as lines in order.
final class Recorder: PusherDelegate {
    private let lines = Lock<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    func contains(_ text: String) -> Bool { all.contains { $0.contains(text) } }

    func count(_ text: String) -> Int { all.count { $0.contains(text) } }

    func waitFor(_ text: String, count: Int = 1, within bound: Duration = .seconds(60)) async -> Bool {
        await eventually(within: bound) { self.count(text) >= count }
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) { add("\(old) → \(new)") }

    func subscribedToChannel(name: String) { add("subscribed \(name)") }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        let underlying = error?.userInfo[NSUnderlyingErrorKey] as? PusherError
        let status = (response as? HTTPURLResponse)?.statusCode
        add("failed \(name) \(status ?? 0) \(data ?? "-"): \(underlying.map { "\($0)" } ?? "?")")
    }

    func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {
        add("undecryptable \(eventName) \(channelName) \(data ?? "-")")
    }

    func receivedError(error: PusherError) { add("error \(error)") }
}

extension PusherClientOptions {
    /// For a server of this process: fast retries, no TLS, signed locally.
    static func local(
        _ server: PusherMockServer, authMethod: AuthMethod = .inline(secret: PusherMockServer.App.defaultSecret)
    ) -> PusherClientOptions {
        var options = PusherClientOptions(
            authMethod: authMethod, host: .host("127.0.0.1"), port: server.port, useTLS: false)
        options.reconnectPolicy = .exponential(base: .milliseconds(20), maximumDelay: .milliseconds(200))
        options.proxy = ""
        (options.connectTimeout, options.authTimeout) = (.seconds(60), .seconds(60))
        return options
    }
}

/// A mock server for the length of `body`.
func withServer(
    _ configuration: PusherMockServer.Configuration = .init(), _ body: (PusherMockServer) async throws -> Void
) async throws {
    let server = try await PusherMockServer.start(configuration)
    do {
        try await body(server)
        await server.stop()
    } catch {
        await server.stop()
        throw error
    }
}

typealias Profile = PusherMockServer.Profile

/// A mock server that imitates another one, for the length of `body`.
func withServer(_ profile: Profile, _ body: (PusherMockServer) async throws -> Void) async throws {
    try await withServer(.init(profile: profile), body)
}

extension Pusher {
    /// A client of `server` that tells `recorder`.
    static func make(
        _ server: PusherMockServer, _ recorder: Recorder, _ change: (inout PusherClientOptions) -> Void = { _ in }
    ) -> Pusher {
        var options = PusherClientOptions.local(server)
        change(&options)
        let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
        pusher.delegate = recorder
        return pusher
    }
}
