import ArgumentParser
package import CommandKit
package import MatrixSDK

extension NetworkArguments {
    /// The Matrix account that `matrix login` has left.
    ///
    /// - Parameter user: Another one; nil for the first.
    func matrixAccount(of user: String? = nil) throws(CommandFailure) -> MatrixAccount {
        let file = if let user { try MatrixCredentialFile.of(user) } else { MatrixCredentialFile() }
        let account = try MatrixAccount(MXRestClientOptions(self), in: file)
        StatusLine.wait(for: "the answer of \(account.serverName)")
        return account
    }
}

extension MXRestClientOptions {
    package init(_ network: NetworkArguments) throws(CommandFailure) {
        self.init()
        (caFile, pinnedKey, proxy) = (try network.authorities, network.pin, network.proxy)
        // Somebody waits at a terminal.
        (connectionTries, connectionPause) = (2, .seconds(1))
    }
}
