import ArgumentParser
import CommandKit
import PydioSDK

struct PydioLinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links", abstract: "List the public links of files and folders.",
        discussion: """
            Prints each link's address, and its password, expiry, downloads and title if it has any. Of several links to \
            one file, servers describe only the first.

            Examples:
              pusher-cli pydio links plans:/plan.pdf
              pusher-cli pydio links plans:/docs plans:/plan.pdf --json
            """)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !remotes.contains(where: \.isTop) else {
            throw ValidationError("A workspace as a whole has no links: name what is in it.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: output.json)
            var records: [PublicLinkRecord] = []
            for remote in remotes {
                try await report.trying("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    _ = try await workspace.existingNode(at: remote.path)
                    records += try await workspace.client.publicLinks(workspaceId: workspace.id, path: remote.path)
                        .map { PublicLinkRecord(link: $0, workspaceID: workspace.id, path: remote.path) }
                }
            }
            _ = output.write(records, none: "there are no public links")
            try report.end()
        }
    }
}
