import ArgumentParser
import CommandKit
import PydioSDK

struct PydioRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore files and folders from the recycle bin.",
        discussion: """
            Moves each back to where it was deleted from, and prints that path. REMOTE is its path in the bin, or its \
            former path or name, if only one thing in the bin can have had it. A folder is restored as a whole.

            Examples:
              pusher-cli pydio restore plans:/draft.pdf
              pusher-cli pydio ls plans:/recycle_bin
              pusher-cli pydio restore plans:/recycle_bin/draft-1.pdf
            """)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !remotes.contains(where: \.isTop) else { throw ValidationError("Say what to restore: WORKSPACE:/name.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: json)
            for remote in remotes {
                try await report.trying("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    try await restore(remote, in: workspace, report)
                }
            }
            try report.end()
        }
    }

    private func restore(_ remote: RemotePath, in workspace: PydioWorkspace, _ report: TransferReport) async throws {
        let entry = try await RecycleBin.of(workspace).entry(remote)
        let answer = try await workspace.client.restore(workspaceId: workspace.id, nodes: [entry.path])
        guard let node = answer.nodesDiff?.added.first ?? answer.nodesDiff?.updated.first else {
            throw CommandFailure(.unavailable, "\(remote): the server does not say where it is now")
        }
        report.done(
            TransferRecord(kind: .restored, workspaceID: workspace.id, path: node.fullPath, from: entry.path),
            "\(workspace.remote(entry.path)) -> \(workspace.remote(node.fullPath))")
    }
}
