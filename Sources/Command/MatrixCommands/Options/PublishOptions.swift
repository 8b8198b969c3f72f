import ArgumentParser
import CommandKit
import PusherHTTP
import PusherProtocol

/// The channel to which a command publishes what it receives, and the server of its application.
///
/// `--host` and `--port` belong to the command itself.
struct PublishOptions: ParsableArguments {
    @Option(help: "Publish to this channel instead of printing.")
    var channel: String?

    @Option(help: "The name of the published events. Default: the type of the Matrix event.")
    var event: String?

    @Option(help: "The application's id. Default: $PUSHER_APP_ID.")
    var appId: String?

    @OptionGroup var credentials: CredentialOptions
    @OptionGroup var masterKey: MasterKeyOption

    @Option(help: "A cluster of Pusher Channels, such as eu. Default: $PUSHER_CLUSTER.")
    var cluster: String?

    @Option(help: ArgumentHelp("The Pusher server's host. Default: $PUSHER_HOST.", valueName: "host"))
    var pusherHost: String?

    @Option(help: ArgumentHelp("The Pusher server's port. Default: $PUSHER_PORT.", valueName: "port"))
    var pusherPort: Int?

    @Flag(inversion: .prefixedNo, help: "Use TLS. Default: $PUSHER_TLS, else yes.")
    var tls: Bool?

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        try EmptyValue.refuse(("--app-id", appId))
        if let channel { try NameArguments.channel(channel) }
        guard channel != nil || event == nil else { throw ValidationError("--event needs --channel.") }
        guard pusherPort.map({ (1...65535).contains($0) }) ?? true else {
            throw ValidationError("--pusher-port must be 1 to 65535.")
        }
        if let cluster, !ClusterName.isOne(cluster) {
            throw ValidationError("--cluster \(ClusterName.mistake(cluster)).")
        }
        _ = try address()
    }

    func client() throws -> PusherHTTPClient {
        var options = Settings()
        (options.appID, options.cluster, options.port) = (appId, cluster, pusherPort)
        (options.tls, options.encryptionMasterKey) = (tls, masterKey.given)
        if let address = try address() { options.take(address) }
        options.take(network)
        let settings = try credentials.settings(options)
        try settings.checkTrust()
        let client = try settings.httpClient(publishingOn: channel.map { [$0] } ?? [])
        settings.announce("publishing to", verbose: false)
        return client
    }

    private func address() throws -> HostAddress? {
        guard let pusherHost else { return nil }
        do throws(HostAddress.Mistake) {
            return try HostAddress(pusherHost)
        } catch {
            throw ValidationError("--pusher-host \(error.words).")
        }
    }
}
