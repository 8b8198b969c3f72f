import ArgumentParser
import Foundation
import PydioSDK

/// How the server is reached: the same for every `pydio` command.
struct PydioConnectionOptions: ParsableArguments {
    @OptionGroup var trust: TrustOptions

    @OptionGroup var proxy: ProxyOption

    var client: PydioClientOptions {
        get throws(CommandFailure) { try PydioClientOptions(trust: trust, proxy: proxy) }
    }
}

/// Which login a command acts for.
struct PydioOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Address or host of the server, if you are logged in to several. Default: the last one you logged in to.",
            valueName: "server"))
    var server: String?

    @OptionGroup var connection: PydioConnectionOptions

    /// The account that `login` has left.
    func account() throws(CommandFailure) -> PydioAccount {
        let account = PydioAccount(try PydioLoginFile().login(server), options: try connection.client)
        StatusLine.wait(for: "the answer of \(account.serverName)")
        return account
    }

    /// Does a command's work in the account's session.
    func run(_ work: @escaping @Sendable (PydioAccount) async throws -> Void) async throws {
        let account = try account()
        try await account.working { account in
            try await work(account)
        }
    }
}

extension PydioClientOptions {
    init(trust: TrustOptions, proxy: ProxyOption) throws(CommandFailure) {
        self.init()
        (caFile, pinnedKey, self.proxy) = (try trust.authorities, trust.pin, proxy.proxy)
    }
}
