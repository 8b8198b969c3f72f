import ArgumentParser
import CommandKit
import PydioSDK

struct PydioCatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Write files to standard output.",
        discussion: """
            Writes the files byte for byte, one after the other. A file that cannot be downloaded completely is not \
            written at all; the others still are.

            Examples:
              pusher-cli pydio cat plans:/log.txt | tail
              pusher-cli pydio cat plans:/2025.csv plans:/2026.csv > all.csv
            """)

    @Argument(
        help: ArgumentHelp("A file: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        if let folder = remotes.first(where: \.isFolder) {
            throw ValidationError("\(TerminalText(folder.description).text) is a folder: cat takes files.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: false)
            var isRead = true
            for remote in remotes where isRead {
                try await report.trying("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    guard try await !workspace.existingNode(at: remote.path).isFolder else {
                        throw CommandFailure(.wrongUse, "\(remote) is a folder: cat takes files")
                    }
                    let download = WorkspaceDownload(workspace: workspace, replaces: false, report: report)
                    isRead = try await download.toStandardOutput(remote)
                }
            }
            try report.end()
        }
    }
}
