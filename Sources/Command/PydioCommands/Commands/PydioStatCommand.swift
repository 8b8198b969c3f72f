import ArgumentParser
import CommandKit
import PydioSDK

struct PydioStatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stat",
        abstract: "Print the time, size and permissions of files and folders, and their MD5 on request.",
        discussion: """
            With --hash, the server reads each file and prints the MD5 of its content, to compare with md5sum. Not \
            every server can do this; the exit status is then 69.

            Examples:
              pusher-cli pydio stat plans:/docs plans:/plan.pdf
              pusher-cli pydio stat plans:/plan.pdf --hash --json
            """)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @Flag(help: "Also print the MD5 of each file.")
    var hash = false

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: output.json)
            for remote in remotes {
                try await report.trying("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    _ = output.write([StatRecord(try await stat(remote, in: workspace), of: remote.path, in: workspace)]
                    )
                }
            }
            try report.end()
        }
    }

    private func stat(_ remote: RemotePath, in workspace: PydioWorkspace) async throws -> PydioNodeStat {
        let (client, id) = (workspace.client, workspace.id)
        let stat =
            hash
            ? try await client.statWithHash(workspaceId: id, path: remote.path)
            : try await client.stat(workspaceId: id, path: remote.path)
        guard let stat else { throw CommandFailure(.badData, "there is no \(remote)") }
        return stat
    }
}
