import ArgumentParser
import MatrixSDK

/// How the homeserver is reached: the same for every `matrix` command.
struct MatrixOptions: ParsableArguments {
    @OptionGroup var trust: TrustOptions

    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    var proxy: String?

    var rest: MXRestClientOptions { MXRestClientOptions(trust: trust, proxy: proxy) }

    /// The account that `login` has left.
    func account() throws(CommandFailure) -> MatrixAccount { try MatrixAccount(rest) }
}

extension MXRestClientOptions {
    init(trust: TrustOptions, proxy: String?) {
        self.init()
        (caFile, pinnedKey, self.proxy) = (trust.caFile, trust.pin, proxy)
        // Somebody waits at a terminal.
        (connectionTries, connectionPause) = (2, .seconds(1))
    }
}
