import ArgumentParser
import CommandKit
import PusherMockServer

struct AuthServerCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "auth-server",
        abstract: "Run auth endpoints that sign every request: for development, not for production.",
        discussion: """
            Serves /pusher/auth and /pusher/user-auth, for use with any server while an application has no auth \
            endpoints of its own. Prints 'listening on ADDRESS:PORT' when ready, and runs until Ctrl-C. Anyone who can \
            reach it can join every channel as any user, so keep it on the loopback interface. Refuses web pages \
            unless --allow-origin names their origin, and host names other than localhost unless --allow-host does. \
            Closes connections that take more than 30 seconds for a request. Encrypted channels need \
            --encryption-master-key.

            Examples:
              pusher-cli auth-server --port 6002
              pusher-cli auth-server --allow-origin http://localhost:3000
            """)

    @Option(help: "The port to listen on; 0 picks a free one.")
    var port = 6002

    @Option(help: "The address to listen on; the default is reachable only from this machine.")
    var host = "127.0.0.1"

    @OptionGroup var credentials: CredentialOptions
    @OptionGroup var masterKey: MasterKeyOption

    @OptionGroup var origins: OriginOptions

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port must be 0 to 65535.") }
    }

    func run() async throws {
        let settings = try credentials.settings(masterKey)
        try settings.require(.key, .secret)
        let app = PusherMockServer.App(
            key: settings.key ?? "", secret: settings.secret ?? "", encryptionMasterKey: settings.encryptionMasterKey)
        var configuration = PusherMockServer.Configuration(
            apps: [app], host: host, port: port, allowedOrigins: origins.allowOrigin, servesAuthOnly: true)
        configuration.allowedHosts = origins.allowHost
        let run = ServerRun(configuration: configuration)
        try await run()
    }
}
