import PusherMockServer
import PusherSwift

/// The server that an example talks to: an embedded one, unless the environment names another.
///
///     PUSHER_HOST=127.0.0.1 PUSHER_PORT=6001 PUSHER_SCHEME=http swift run QuickStartAsync
///
/// | variable | default |
/// |---|---|
/// | `PUSHER_HOST`, `PUSHER_CLUSTER` | an embedded server |
/// | `PUSHER_PORT` | 443, or 80 without TLS |
/// | `PUSHER_SCHEME` | `https`; `http` turns TLS off |
/// | `PUSHER_APP_ID`, `PUSHER_KEY`, `PUSHER_SECRET` | those of `pusher-cli serve` |
/// | `PUSHER_AUTH_ENDPOINT` | `/pusher/auth` on the same host, as `pusher-cli serve` has it |
///
/// In your own program, write the options that ``options`` returns.
package struct ExampleServer: Sendable {
    /// Nil for a cluster.
    package let host: String?
    package let cluster: String?
    package let port: Int?
    package let useTLS: Bool
    package let appID: String
    package let key: String
    package let secret: String
    /// Signs subscriptions to private and presence channels.
    package let authEndpoint: String

    /// Starts the embedded server, unless the environment names another.
    ///
    /// - Parameters:
    ///   - data: JSON texts that the embedded server publishes when a client subscribes to `channel`.
    ///   - event: The name of these events.
    package static func start(
        publishing data: [String] = [], as event: String = "", on channel: String = ""
    ) async throws -> ExampleServer {
        let environment = ProcessInfo.processInfo.environment
        guard environment["PUSHER_HOST"] == nil, environment["PUSHER_CLUSTER"] == nil else {
            return ExampleServer(environment)
        }
        setenv("no_proxy", "127.0.0.1", 1)  // no proxy on the way to this process
        let steps = data.map {
            ["on": "subscribe", "channel": channel, "do": "publish", "event": event, "data": $0]
        }
        let script = String(decoding: try JSONEncoder().encode(steps), as: UTF8.self)
        let server = try await PusherMockServer.start(.init(script: try .init(json: script)))
        return ExampleServer([
            "PUSHER_HOST": server.host, "PUSHER_PORT": String(server.port), "PUSHER_SCHEME": "http",
        ])
    }

    /// The same for programs without `await`: blocks until the server has started.
    package static func startAndWait(
        publishing data: [String] = [], as event: String = "", on channel: String = ""
    ) throws -> ExampleServer {
        let (started, box) = (DispatchSemaphore(value: 0), ResultBox())
        Task {
            do {
                box.result = .success(try await start(publishing: data, as: event, on: channel))
            } catch {
                box.result = .failure(error)
            }
            started.signal()
        }
        started.wait()
        return try box.result.get()
    }

    /// Written before the semaphore is signalled, read after it.
    private final class ResultBox: @unchecked Sendable {
        var result: Result<ExampleServer, any Error> = .failure(CancellationError())
    }

    private init(_ environment: [String: String]) {
        host = environment["PUSHER_HOST"]
        cluster = environment["PUSHER_CLUSTER"]
        port = environment["PUSHER_PORT"].flatMap { Int($0) }
        useTLS = environment["PUSHER_SCHEME"] != "http"
        appID = environment["PUSHER_APP_ID"] ?? PusherMockServer.App.defaultID
        key = environment["PUSHER_KEY"] ?? PusherMockServer.App.defaultKey
        secret = environment["PUSHER_SECRET"] ?? PusherMockServer.App.defaultSecret
        let address = "\(useTLS ? "https" : "http")://\(host ?? "127.0.0.1")\(port.map { ":\($0)" } ?? "")"
        authEndpoint = environment["PUSHER_AUTH_ENDPOINT"] ?? address + "/pusher/auth"
    }

    /// Options for a client of this server.
    package var options: PusherClientOptions {
        let server: PusherHost = host.map { .host($0) } ?? cluster.map { .cluster($0) } ?? .defaultHost
        var options = PusherClientOptions(host: server, port: port, useTLS: useTLS)
        // An example ends if nothing listens. Keep the default in a program that runs for days: it never gives up.
        options.reconnectAttemptsMax = 2
        return options
    }
}
