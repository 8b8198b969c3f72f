import ArgumentParser
import PydioSDK

/// The files and folders that a command processes one after the other.
struct NodeOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !remotes.contains(where: \.isTop) else {
            throw ValidationError("A workspace as a whole cannot be used here: name what is in it.")
        }
    }

    /// Runs the work for each one, continuing after failures.
    func run(
        _ work: @escaping @Sendable (RemotePath, PydioWorkspace, TransferReport) async throws -> Void
    ) async throws {
        let (remotes, json) = (remotes, json)
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: json)
            for remote in remotes {
                try await report.trying("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    _ = try await workspace.existingNode(at: remote.path)
                    try await work(remote, workspace, report)
                }
            }
            try report.end()
        }
    }
}
