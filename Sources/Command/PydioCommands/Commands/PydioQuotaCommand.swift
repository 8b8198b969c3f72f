import ArgumentParser
import CommandKit
import PydioSDK

struct PydioQuotaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quota", abstract: "Print how much storage is in use, and how much there is, in bytes.",
        discussion: """
            If the server does not count the storage of a workspace, this is reported, the others are still printed, \
            and the exit status is 69.

            Example:
              pusher-cli pydio quota plans --json
            """)

    @Argument(help: ArgumentHelp("A workspace: id, slug or label. Default: all of them.", valueName: "workspace"))
    var workspaces: [String] = []

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            let all = try await account.workspaces()
            let report = TransferReport(json: output.json)
            for name in workspaces.isEmpty ? all.map(\.name) : workspaces {
                try await report.trying(name) {
                    let workspace = try PydioWorkspace.named(name, among: all)
                    let quota = try await workspace.client.quota(workspaceId: workspace.id)
                    _ = output.write([QuotaRecord(quota: quota, workspace: workspace)])
                }
            }
            try report.end()
        }
    }
}
