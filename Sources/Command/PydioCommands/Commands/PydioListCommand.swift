import ArgumentParser
import CommandKit
import PydioSDK

struct PydioListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List folders: modification time, size in bytes, name.",
        discussion: """
            A folder that cannot be opened is reported, and the rest is still listed; the exit status is then 65.

            Examples:
              pusher-cli pydio ls plans:/docs
              pusher-cli pydio ls plans: --recursive --json
            """)

    @Argument(
        help: ArgumentHelp("A folder or a file: WORKSPACE:/path.", valueName: "remote"),
        transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @Flag(name: .shortAndLong, help: "Also list what is in the folders, except in the recycle bin.")
    var recursive = false

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: output.json)
            var isRead = true
            for remote in remotes where isRead {
                try await report.skipping("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    switch try await workspace.existingNode(at: remote.path) {
                    case .file(let size, let modified):
                        let record = NodeRecord(file: remote.path, size: size, modified: modified, in: workspace)
                        isRead = output.write([record])
                    case .folder:
                        if remotes.count > 1, !output.json { isRead = StandardOutput.write("\(remote):") }
                        if isRead { isRead = try await list(remote.path, of: workspace, shownAs: "", report) }
                    }
                }
            }
            guard isRead else { return }
            try report.end()
        }
    }

    /// - Parameter prefix: The text before the names.
    /// - Returns: Whether the output is still being read.
    private func list(
        _ folder: String, of workspace: PydioWorkspace, shownAs prefix: String, _ report: TransferReport
    ) async throws -> Bool {
        var records: [NodeRecord] = []
        for node in try await RemoteChild.all(of: folder, in: workspace) {
            let name = prefix + node.name
            records.append(NodeRecord(node.response, in: workspace, shownAs: name))
            guard recursive, node.isOpened else { continue }
            guard output.write(records) else { return false }
            records = []
            var isRead = true
            try await report.skipping(workspace.remote(node.path)) {
                isRead = try await list(node.path, of: workspace, shownAs: name + "/", report)
            }
            guard isRead else { return false }
        }
        return output.write(records)
    }
}
