import ArgumentParser
import Foundation
import PydioSDK

/// How the server is reached: the same for every `pydio` command.
struct PydioConnectionOptions: ParsableArguments {
    @Option(help: "A PEM file of certificate authorities to trust instead of the system's.", completion: .file())
    var caFile: String?

    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    var proxy: String?

    var client: PydioClientOptions { PydioClientOptions(caFile: caFile, proxy: proxy) }
}

/// Which login a command acts for.
struct PydioOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Address or host of the server, if you are logged in at several. Default: where you have logged in last.",
            valueName: "server"))
    var server: String?

    @OptionGroup var connection: PydioConnectionOptions

    /// The account that `login` has left.
    func account() throws(CommandFailure) -> PydioAccount {
        PydioAccount(try PydioLoginFile().login(server), options: connection.client)
    }

    /// Does a command's work; until it is done Ctrl-C breaks it off.
    func run(_ work: @escaping @Sendable (PydioAccount) async throws -> Void) async throws {
        signal(SIGPIPE, SIG_IGN)  // a reader that leaves shows as a failed write
        try await ExitStatus.reporting {
            let account = try account()
            try await account.working { account in
                try await SignalWatch.finishing { try await work(account) }
            }
        }
    }
}

extension PydioClientOptions {
    init(caFile: String?, proxy: String?) {
        self.init()
        (self.caFile, self.proxy) = (caFile, proxy)
    }
}
