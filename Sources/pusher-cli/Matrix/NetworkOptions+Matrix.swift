import ArgumentParser
import MatrixSDK

/// How the homeserver is reached: the same for every `matrix` command.
struct MatrixOptions: ParsableArguments {
    @OptionGroup var trust: TrustOptions

    @OptionGroup var proxy: ProxyOption

    var rest: MXRestClientOptions {
        get throws(CommandFailure) { try MXRestClientOptions(trust: trust, proxy: proxy) }
    }

    /// The account that `login` has left.
    ///
    /// - Parameter user: Another one; nil for the first.
    func account(of user: String? = nil) throws(CommandFailure) -> MatrixAccount {
        let file = if let user { try MatrixCredentialFile.of(user) } else { MatrixCredentialFile() }
        let account = try MatrixAccount(rest, in: file)
        StatusLine.wait(for: "the answer of \(account.serverName)")
        return account
    }
}

extension MXRestClientOptions {
    init(trust: TrustOptions, proxy: ProxyOption) throws(CommandFailure) {
        self.init()
        (caFile, pinnedKey, self.proxy) = (try trust.authorities, trust.pin, proxy.proxy)
        // Somebody waits at a terminal.
        (connectionTries, connectionPause) = (2, .seconds(1))
    }
}
