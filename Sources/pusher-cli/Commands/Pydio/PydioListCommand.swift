import ArgumentParser
import PydioSDK

struct PydioListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List folders: modification time, size in bytes, name.",
        discussion: """
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
            for remote in remotes {
                let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                switch try await workspace.existingNode(at: remote.path) {
                case .file(let size, let modified):
                    let record = NodeRecord(file: remote.path, size: size, modified: modified, in: workspace)
                    guard output.write([record]) else { return }
                case .folder:
                    if remotes.count > 1, !output.json, !StandardOutput.write("\(remote):") { return }
                    guard try await list(remote.path, of: workspace, shownAs: "") else { return }
                }
            }
        }
    }

    /// - Parameter prefix: What comes before the names.
    /// - Returns: Whether somebody still reads.
    private func list(_ folder: String, of workspace: PydioWorkspace, shownAs prefix: String) async throws -> Bool {
        var records: [NodeRecord] = []
        for node in try await RemoteChild.all(of: folder, in: workspace) {
            let name = prefix + node.name
            records.append(NodeRecord(node.response, in: workspace, shownAs: name))
            guard recursive, node.isOpened else { continue }
            guard output.write(records), try await list(node.path, of: workspace, shownAs: name + "/") else {
                return false
            }
            records = []
        }
        return output.write(records)
    }
}
