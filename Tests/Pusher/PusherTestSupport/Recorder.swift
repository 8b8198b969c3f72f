import Basics
package import PusherMockServer
package import PusherSwift
import TestSupport

/// A delegate that records a client's reports as lines, in order.
package final class Recorder: PusherDelegate {
    private let lines = Lock<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    package func add(_ line: String) { lines.withLock { $0.append(line) } }

    package func contains(_ text: String) -> Bool { all.contains { $0.contains(text) } }

    package func count(_ text: String) -> Int { all.count { $0.contains(text) } }

    package func waitFor(_ text: String, count: Int = 1, within bound: Duration = .seconds(60)) async -> Bool {
        await eventually(within: bound) { self.count(text) >= count }
    }

    package func changedConnectionState(from old: ConnectionState, to new: ConnectionState) { add("\(old) → \(new)") }

    package func subscribedToChannel(name: String) { add("subscribed \(name)") }

    package func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        let underlying = error?.userInfo[NSUnderlyingErrorKey] as? PusherError
        let status = (response as? HTTPURLResponse)?.statusCode
        add("failed \(name) \(status ?? 0) \(data ?? "-"): \(underlying.map { "\($0)" } ?? "?")")
    }

    package func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {
        add("undecryptable \(eventName) \(channelName) \(data ?? "-")")
    }

    package func receivedError(error: PusherError) { add("error \(error)") }
}

extension PusherClientOptions {
    /// Options for a server in this process: fast retries, no TLS, local signatures.
    package static func local(
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

/// Runs `body` with a mock server.
package func withServer(
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

package typealias Profile = PusherMockServer.Profile

/// Runs `body` with a mock server that imitates another one.
package func withServer(_ profile: Profile, _ body: (PusherMockServer) async throws -> Void) async throws {
    try await withServer(.init(profile: profile), body)
}

extension Pusher {
    /// Returns a client of `server` that reports to `recorder`.
    package static func make(
        _ server: PusherMockServer, _ recorder: Recorder, _ change: (inout PusherClientOptions) -> Void = { _ in }
    ) -> Pusher {
        var options = PusherClientOptions.local(server)
        change(&options)
        let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
        pusher.delegate = recorder
        return pusher
    }
}

extension PusherMockServer.State {
    /// Returns the number of text frames that contain `text`.
    package func framesReceived(containing text: String) -> Int {
        history.count { if case .frameReceived(let frame, _) = $0 { frame.contains(text) } else { false } }
    }
}
