package import ArgumentParser
package import PusherHTTP
import PusherProtocol

/// The application for HTTP API requests.
package struct ApplicationOptions: ParsableArguments {
    @Option(help: "The application's id. Default: $PUSHER_APP_ID.")
    package var appId: String?

    package init() {}

    package func validate() throws {
        try EmptyValue.refuse(("--app-id", appId))
        if let appId { try NameArguments.pathSegment(appId, of: "--app-id") }
    }
}

/// The options for calling the HTTP API.
package struct HTTPOptions: ParsableArguments {
    @OptionGroup package var application: ApplicationOptions
    @OptionGroup package var credentials: CredentialOptions
    @OptionGroup package var address: AddressOptions
    @OptionGroup package var network: NetworkArguments

    @Option(help: "Give up on a request after this many seconds.")
    package var timeout = 30.0

    @Flag(help: "Name the server on standard error. On a terminal, commands that publish or delete always do.")
    package var verbose = false

    package init() {}

    package func validate() throws {
        try Seconds.check("--timeout", timeout)
    }

    /// - Parameters:
    ///   - channels: The channels to publish on.
    ///   - masterKey: The key for encrypted channels.
    ///   - change: The change that the command makes, to announce with the server's name; `nil` if it only reads.
    package func api(
        publishingOn channels: [String] = [], _ masterKey: MasterKeyOption? = nil, change: String? = nil
    ) throws -> HTTPAPI {
        var options = try address.settings(network)
        (options.appID, options.encryptionMasterKey) = (application.appId, masterKey?.given)
        let settings = try credentials.settings(options)
        try settings.checkTrust()
        let client = try settings.httpClient(timeout: .seconds(timeout), publishingOn: channels)
        if change != nil || verbose { settings.announce(change ?? "asking", verbose: verbose) }
        return HTTPAPI(client: client, serverName: settings.serverName)
    }
}

/// The HTTP API of an application, as used by a command.
package struct HTTPAPI: Sendable {
    package let client: PusherHTTPClient
    /// The server's name, for messages.
    package let serverName: String

    /// Sends a request, with a status line while it is pending.
    package func ask<Answer, Failure: Error>(
        _ question: (PusherHTTPClient) async throws(Failure) -> Answer
    ) async throws(Failure) -> Answer {
        try await StatusLine.waiting(for: "the answer of \(serverName)") { () async throws(Failure) -> Answer in
            try await question(client)
        }
    }
}

extension Settings {
    /// - Parameter channels: The channels to publish on, if known.
    package func httpClient(
        timeout: Duration = .seconds(30), publishingOn channels: [String] = []
    ) throws(CommandFailure) -> PusherHTTPClient {
        try requirePublishing(on: channels)
        return PusherHTTPClient(
            appID: appID ?? "", key: key ?? "", secret: secret ?? "", cluster: cluster, host: host, port: port,
            path: path ?? "", useTLS: usesTLS, caFile: caFile, pinnedKey: pinnedKey, proxy: proxy,
            encryptionMasterKey: encryptionMasterKey,
            timeout: timeout)
    }

    /// Announces an action and its server on standard error: on a terminal, and elsewhere if `verbose`.
    package func announce(_ action: String, verbose: Bool) {
        guard verbose || StandardError.isTerminal else { return }
        let source: TerminalText =
            switch origin {
            case .context(let name): " (context “\(name)”)"
            case .serve: " (the running serve)"
            case .options, .variables, .url: ""
            }
        StandardError.write("\(action) \(serverName)\(source)")
    }

    /// The server's name, for messages.
    package var serverName: String {
        guard let host else { return "Pusher Channels" + (cluster.map { ", cluster \($0)" } ?? "") }
        return HostAddress.name(host, port)
    }
}
