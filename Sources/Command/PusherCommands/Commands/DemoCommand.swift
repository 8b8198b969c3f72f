import ArgumentParser
import CommandKit
import Foundation
import PusherHTTP
import PusherMockServer
import PusherSwift

struct DemoCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "See it work: a server, a client and events on every kind of channel, all in this process.",
        discussion: """
            Needs no network and no account, and ends on its own.

            Example:
              pusher-cli demo --json
            """)

    private static let channels = ["prices", "private-orders", "presence-room"]

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let server: PusherMockServer
        do {
            server = try await PusherMockServer.start()
        } catch {
            throw CommandFailure(.unavailable, "\(error)")
        }
        StandardError.write(
            "A server on 127.0.0.1:\(server.port), a client on \(Self.channels.joined(separator: ", ")).")
        let status = try await play(on: server)
        await server.stop()
        try status.exit()
    }

    private func play(on server: PusherMockServer) async throws -> ExitStatus {
        var options = PusherClientOptions(
            authMethod: .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth"),
            host: .host("127.0.0.1"), port: server.port, useTLS: false)
        options.proxy = ""  // directly to this process, whatever the environment says
        let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
        let stream = try StreamOptions.parse(
            ["--count", "\(Self.channels.count)", "--timeout", "20", "--color", output.color.color.rawValue]
                + (output.json ? ["--json"] : []))
        let events = EventStream(pusher: pusher, channels: Self.channels, mode: .everything, options: stream)
        return await withTaskGroup { group in
            group.addTask { await publish(to: server, when: pusher) }
            let status = await events.run()
            group.cancelAll()  // the reader of the output may have left early
            return status
        }
    }

    /// Publishes through the HTTP API, like an application's server.
    private func publish(to server: PusherMockServer, when pusher: Pusher) async {
        let api = PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey,
            secret: PusherMockServer.App.defaultSecret, host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
        for name in Self.channels {
            do {
                try await pusher.connection.channels.find(name: name)?.subscribed()
                try await api.trigger(event: "greeting", channels: [name], data: #"{"hello":"\#(name)"}"#)
            } catch {
                if Task.isCancelled { return }
                StandardError.complain(error)
            }
        }
    }
}
