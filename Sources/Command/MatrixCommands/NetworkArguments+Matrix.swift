import ArgumentParser
package import CommandKit
package import MatrixSDK

extension NetworkArguments {
    /// Returns the Matrix account of `matrix login`.
    ///
    /// - Parameter user: The user of another login; `nil` for the first one.
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
        // A user is waiting at the terminal.
        (connectionTries, connectionPause) = (2, .seconds(1))
    }
}
