import ArgumentParser
import PusherHTTP

/// Which application the HTTP API is asked about.
struct ApplicationOptions: ParsableArguments {
    @Option(help: "The application's id. Default: $PUSHER_APP_ID.")
    var appId: String?
}

/// How the HTTP API is called.
struct HTTPOptions: ParsableArguments {
    @OptionGroup var application: ApplicationOptions
    @OptionGroup var credentials: CredentialOptions
    @OptionGroup var address: AddressOptions

    @Option(help: "Give up on a request after this many seconds.")
    var timeout = 30.0

    func validate() throws {
        try Seconds.check("--timeout", timeout)
    }

    func client() throws -> PusherHTTPClient {
        var options = try address.settings()
        options.appID = application.appId.nonEmpty
        let settings = try credentials.settings(options)
        let client = try settings.httpClient(proxy: address.proxy, timeout: .seconds(timeout))
        StatusLine.wait(for: "the answer of \(settings.serverName)")
        return client
    }
}

extension Settings {
    /// - Parameter proxy: Nil is what the environment says.
    func httpClient(proxy: String?, timeout: Duration = .seconds(30)) throws(CommandFailure) -> PusherHTTPClient {
        try require(.key, .appID, .secret)
        return PusherHTTPClient(
            appID: appID ?? "", key: key ?? "", secret: secret ?? "", cluster: cluster, host: host, port: port,
            path: path ?? "", useTLS: usesTLS, caFile: caFile, pinnedKey: pinnedKey, proxy: proxy,
            encryptionMasterKey: encryptionMasterKey,
            timeout: timeout)
    }

    /// The server, for people.
    var serverName: String {
        guard let host else { return "Pusher Channels" + (cluster.map { ", cluster \($0)" } ?? "") }
        let name = host.contains(":") ? "[\(host)]" : host
        return name + (port.map { ":\($0)" } ?? "")
    }
}
