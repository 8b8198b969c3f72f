package import ArgumentParser
package import CommandKit
package import PydioSDK

/// The selection of workspaces for `listen`.
package struct PydioListenOptions: ParsableArguments {
    @Option(
        name: .customLong("pydio"),
        help: ArgumentHelp(
            "Also print the events of this Pydio workspace: id, slug or label; or a server's address, for all it has. "
                + "May be repeated.", valueName: "workspace"))
    package var workspaces: [String] = []

    @Option(
        help: ArgumentHelp(
            "The server for --pydio, if you are logged in to several. Default: the last one you logged in to.",
            valueName: "server"))
    var pydioServer: String?

    @OptionGroup var watch: PydioWatchOptions

    package init() {}

    package func validate() throws {
        guard !workspaces.isEmpty || (pydioServer == nil && watch.pollInterval == nil) else {
            throw ValidationError("--pydio-server and --poll-interval need --pydio.")
        }
    }

    /// Returns one feed per server.
    package func feeds(_ client: PydioClientOptions) throws(CommandFailure) -> [any Feed] {
        let file = PydioLoginFile()
        var feeds: [any Feed] = []
        var whole: [PydioLogin] = []
        for address in workspaces where address.contains("://") {
            let login = try file.login(address)
            guard !whole.contains(login) else { continue }
            whole.append(login)
            feeds.append(PydioFeed(PydioAccount(login, options: client), workspaces: [], options: watch.events))
        }
        let names = workspaces.filter { !$0.contains("://") }
        guard !names.isEmpty else { return feeds }
        let login = try file.login(pydioServer)
        guard !whole.contains(login) else { return feeds }
        return feeds + [PydioFeed(PydioAccount(login, options: client), workspaces: names, options: watch.events)]
    }
}
