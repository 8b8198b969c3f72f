import ArgumentParser
import Foundation
import MatrixSDK

struct MatrixPushGatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-gateway", abstract: "Receive a homeserver's push notifications, and print or publish them.",
        discussion: """
            Prints the URL to give a homeserver on standard error, and runs until Ctrl-C. Whoever reaches the port may push: \
            keep it behind a reverse proxy that lets the homeserver in alone. No login is needed.

            Examples:
              pusher-cli matrix push-gateway --port 7000 --json
              pusher-cli matrix push-gateway --port 7000 --channel private-pushes
            """)

    @Option(help: "The port to listen on; 0 takes any free one.")
    var port: Int

    @Option(help: "The address to listen on; the default is reachable from this machine only.")
    var host = "127.0.0.1"

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @OptionGroup var publish: PublishOptions

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
        guard !json || publish.channel == nil else { throw ValidationError("--json and --channel exclude each other.") }
    }

    func run() async throws {
        let publisher = try publish.channel.map {
            PushPublisher(client: try publish.client(), channel: $0, event: publish.event)
        }
        signal(SIGPIPE, SIG_IGN)  // a reader that leaves shows as a failed write
        try await ExitStatus.reporting {
            var configuration = PushGateway.Configuration()
            (configuration.host, configuration.port) = (host, port)
            let gateway = try await PushGateway.start(configuration)
            do {
                _ = try await SignalWatch.interrupting {
                    StandardError.write("listening on \(gateway.url)")
                    for await notification in gateway.notifications {
                        if let publisher {
                            try await publisher.publish(notification)
                        } else {
                            let record = PushNotificationRecord(notification)
                            let line = json ? record.json : record.text(style: .standardOutput)
                            guard StandardOutput.write(line) else { return }
                        }
                    }
                }
            } catch {
                await gateway.stop()
                throw error
            }
            await gateway.stop()
        }
    }
}
