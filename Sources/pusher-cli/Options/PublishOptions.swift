import ArgumentParser
import PusherHTTP

/// Where a command publishes what it receives: a channel, and the server of its application.
///
/// `--host` and `--port` are the command's own.
struct PublishOptions: ParsableArguments {
    @Option(help: "Publish to this channel instead of printing.")
    var channel: String?

    @Option(help: "The name of the events published. Default: the type of the Matrix event.")
    var event: String?

    @Option(help: "The application's id. Default: $PUSHER_APP_ID.")
    var appId: String?

    @OptionGroup var credentials: CredentialOptions

    @Option(help: "A cluster of Pusher Channels, such as eu. Default: $PUSHER_CLUSTER.")
    var cluster: String?

    @Option(help: ArgumentHelp("The Pusher server's host. Default: $PUSHER_HOST.", valueName: "host"))
    var pusherHost: String?

    @Option(help: ArgumentHelp("The Pusher server's port. Default: $PUSHER_PORT.", valueName: "port"))
    var pusherPort: Int?

    @Flag(inversion: .prefixedNo, help: "Use TLS.")
    var tls = true

    @Option(help: "A PEM file of certificate authorities to trust instead of the system's.", completion: .file())
    var caFile: String?

    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    var proxy: String?

    func validate() throws {
        guard channel != nil || event == nil else { throw ValidationError("--event goes with --channel.") }
        guard pusherPort.map({ (1...65535).contains($0) }) ?? true else {
            throw ValidationError("--pusher-port is 1 to 65535.")
        }
    }

    func client() throws -> PusherHTTPClient {
        guard let appID = appId ?? Environment["PUSHER_APP_ID"], !appID.isEmpty else {
            throw ValidationError("Give the application's id with --app-id or PUSHER_APP_ID.")
        }
        return PusherHTTPClient(
            appID: appID, key: try credentials.requireKey(), secret: try credentials.requireSecret(),
            cluster: cluster ?? Environment["PUSHER_CLUSTER"], host: pusherHost ?? Environment["PUSHER_HOST"],
            port: try pusherPort ?? Environment.port(), useTLS: tls, caFile: caFile, proxy: proxy,
            encryptionMasterKey: credentials.encryptionMasterKeyGiven)
    }
}
