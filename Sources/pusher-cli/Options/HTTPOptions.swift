import ArgumentParser
import PusherHTTP
import PusherSwift

/// What the HTTP API needs beside the connection.
struct HTTPOptions: ParsableArguments {
    @Option(help: "The application's id. Default: $PUSHER_APP_ID.")
    var appId: String?

    @OptionGroup var connection: ConnectionOptions

    func client() throws -> PusherHTTPClient {
        guard let appID = appId ?? Environment["PUSHER_APP_ID"], !appID.isEmpty else {
            throw ValidationError("Give the application's id with --app-id or PUSHER_APP_ID.")
        }
        let (key, secret) = (try connection.requireKey(), try connection.credentials.requireSecret())
        var cluster: String?
        var host: String?
        switch connection.pusherHost {
        case .host(let name): host = name
        case .cluster(let name): cluster = name
        case .defaultHost: break
        }
        return PusherHTTPClient(
            appID: appID, key: key, secret: secret, cluster: cluster, host: host,
            port: try connection.port ?? Environment.port(), path: connection.path ?? "", useTLS: connection.tls,
            caFile: connection.caFile, proxy: connection.proxy,
            encryptionMasterKey: connection.credentials.encryptionMasterKeyGiven)
    }
}
