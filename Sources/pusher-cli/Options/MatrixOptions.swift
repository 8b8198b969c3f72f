import ArgumentParser
import MatrixSDK

/// How the homeserver is reached: the same for every `matrix` command.
struct MatrixOptions: ParsableArguments {
    @Option(help: "A PEM file of certificate authorities to trust instead of the system's.", completion: .file())
    var caFile: String?

    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    var proxy: String?

    var rest: MXRestClientOptions { MXRestClientOptions(caFile: caFile, proxy: proxy) }

    /// The account that `login` has left.
    func account() throws(CommandFailure) -> MatrixAccount { try MatrixAccount(rest) }
}

extension MXRestClientOptions {
    init(caFile: String?, proxy: String?) {
        self.init()
        (self.caFile, self.proxy) = (caFile, proxy)
        // Somebody waits at a terminal.
        (connectionTries, connectionPause) = (2, .seconds(1))
    }
}
