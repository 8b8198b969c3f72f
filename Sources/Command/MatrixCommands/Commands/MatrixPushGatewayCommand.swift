import ArgumentParser
import CommandKit
import Foundation
import MatrixSDK

struct MatrixPushGatewayCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "push-gateway", abstract: "Receive a homeserver's push notifications, and print or publish them.",
        discussion: """
            Prints the URL to give to a homeserver on standard error, and runs until Ctrl-C. Anyone who can reach the \
            port can push, so keep it behind a reverse proxy that admits only the homeserver. No login is needed.

            Examples:
              pusher-cli matrix push-gateway --port 7000 --json
              pusher-cli matrix push-gateway --port 7000 --channel private-pushes
            """)

    @Option(help: "The port to listen on; 0 picks a free one.")
    var port: Int

    @Option(help: "The address to listen on; the default is reachable only from this machine.")
    var host = "127.0.0.1"

    @OptionGroup var output: OutputOptions

    @OptionGroup var publish: PublishOptions

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port must be 0 to 65535.") }
        guard !output.json || publish.channel == nil else {
            throw ValidationError("--json cannot be used with --channel.")
        }
    }

    func run() async throws {
        let publisher = try publish.channel.map {
            PushPublisher(client: try publish.client(), channel: $0, event: publish.event)
        }
        var configuration = PushGateway.Configuration()
        (configuration.host, configuration.port) = (host, port)
        let gateway = try await PushGateway.start(configuration)
        // After a signal, no new notifications are accepted. Those already confirmed to homeservers are still
        // published.
        let watch = Task {
            await SignalWatch.wait {
                StandardError.write("listening on \(gateway.url)")
                return true
            }
            await gateway.stop()
            try await Task.sleep(for: Self.farewell)
        }
        let work = Task {
            defer { watch.cancel() }
            if let publisher { try await publisher.publish(gateway.notifications) } else { await print(gateway) }
        }
        _ = try? await watch.value
        work.cancel()
        await gateway.stop()
        try await work.value
    }

    /// The time limit for publishing pending notifications at the end.
    private static let farewell = Duration.seconds(10)

    private func print(_ gateway: PushGateway) async {
        for await notification in gateway.notifications {
            guard output.write(PushNotificationRecord(notification)) else { return }
        }
    }
}
