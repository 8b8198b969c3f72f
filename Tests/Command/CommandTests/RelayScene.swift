import Foundation
import Realtime
import RelayProtocol
import RelayTestSupport

@testable import EventRelay

/// A NATS server with the streams of the relay, for use with `pusher-cli`.
struct RelayScene {
    let server: NATSServer
    let connection: NATSConnection

    /// - Parameters:
    ///   - configuration: Lines of the server's configuration file.
    ///   - user: The name of an operator whose password is `pw`; `nil` if no login is needed.
    static func start(configuration: String = "", user: String? = nil, hasStreams: Bool = true) async throws -> Self {
        let server = try await NATSServer(configuration: configuration)
        var options = try NATSOptions(server.url)
        options.credentials = user.map { .user($0, password: "pw") }
        let connection = NATSConnection(options)
        try await connection.connect()
        guard hasStreams else { return RelayScene(server: server, connection: connection) }
        for settings in [
            StreamSettings.events(replicas: 1, maximumBytes: 16 << 20), .records(replicas: 1, maximumBytes: 4 << 20),
            .deadLetters(replicas: 1, maximumBytes: 4 << 20),
        ] { _ = try await connection.setUp(settings) }
        return RelayScene(server: server, connection: connection)
    }

    func run(_ arguments: [String], environment: [String: String] = [:]) throws -> CommandRun {
        try CommandRun(arguments, environment: ["NATS_URL": server.url].merging(environment) { $1 })
    }

    /// Publishes events as a relay does, one for each text.
    func publish(_ data: [String], name: String = "changed", time: Date = Date()) async throws {
        for (index, data) in data.enumerated() {
            let event = RealtimeEvent(name: name, channel: "price", data: data)
            try await publish(.event(event), index: index, time: time)
        }
    }

    func publishGap(start: Date, end: Date) async throws {
        let gap = RelayGap(
            channel: "price", start: Int64(start.timeIntervalSince1970 * 1000),
            end: Int64(end.timeIntervalSince1970 * 1000), reason: "takeover")
        try await publish(.gap(gap), index: 0, time: end)
    }

    func deleteStream(_ name: String) async throws {
        try await connection.request("$JS.API.STREAM.DELETE.\(name)", "")
    }

    private func publish(_ content: RelayMessage.Content, index: Int, time: Date) async throws {
        let author = RelayMessage.Author(unit: "pusher:app:price", term: 1, sequence: index + 1)
        let message = RelayMessage(
            content, source: "pusher", author: author, time: Int64(time.timeIntervalSince1970 * 1000))
        _ = try await connection.publish(
            message.outgoing(prefix: "ev", messageID: UUID().uuidString, stream: "EVENTS"))
    }
}

/// A path that does not exist until the gate opens.
final class Gate: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "gate-\(UUID())").path

    func open() { _ = FileManager.default.createFile(atPath: path, contents: nil) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
