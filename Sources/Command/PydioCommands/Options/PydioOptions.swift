import ArgumentParser
package import CommandKit
import Foundation
package import PydioSDK

/// The login for a command.
struct PydioOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Address or host of the server, if you are logged in to several. Default: the last one you logged in to.",
            valueName: "server"))
    var server: String?

    @OptionGroup var network: NetworkArguments

    /// Returns the account of `login`.
    func account() throws(CommandFailure) -> PydioAccount {
        let account = PydioAccount(try PydioLoginFile().login(server), options: try PydioClientOptions(network))
        StatusLine.wait(for: "the answer of \(account.serverName)")
        return account
    }

    /// Runs a command's work in the account's session.
    func run(_ work: @escaping @Sendable (PydioAccount) async throws -> Void) async throws {
        let account = try account()
        try await account.working { account in
            try await work(account)
        }
    }
}

extension PydioClientOptions {
    package init(_ network: NetworkArguments) throws(CommandFailure) {
        self.init()
        (caFile, pinnedKey, proxy) = (try network.authorities, network.pin, network.proxy)
    }
}
