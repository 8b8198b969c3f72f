import ArgumentParser
import CommandKit
import PydioSDK

struct PydioRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm", abstract: "Delete files, and folders with --recursive.",
        discussion: """
            If the workspace has a recycle bin, they are moved there; whatever is already in the bin is deleted for \
            good. All of them are checked before the first is deleted.

            Example:
              pusher-cli pydio rm plans:/draft.pdf plans:/old --recursive
            """)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @Flag(name: .shortAndLong, help: "Also delete folders, with everything in them.")
    var recursive = false

    @Flag(help: "Ignore files and folders that do not exist.")
    var force = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !remotes.contains(where: \.isTop) else { throw ValidationError("A workspace itself cannot be deleted.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: json)
            var removals: [(workspace: PydioWorkspace, paths: [RemotePath])] = []
            for remote in remotes {
                let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                guard let node = try await workspace.node(at: remote.path) else {
                    if force { continue }
                    throw CommandFailure(.badData, "there is no \(remote); nothing is deleted")
                }
                guard recursive || !node.isFolder else {
                    throw CommandFailure(.badData, "\(remote) is a folder: --recursive deletes it; nothing is deleted")
                }
                if let index = removals.firstIndex(where: { $0.workspace.id == workspace.id }) {
                    // It is removed together with its folder.
                    guard !removals[index].paths.contains(where: { remote.isWithin($0) }) else { continue }
                    removals[index].paths.removeAll { $0.isWithin(remote) }
                    removals[index].paths.append(remote)
                } else {
                    removals.append((workspace, [remote]))
                }
            }
            for (workspace, paths) in removals {
                // Items in the bin are requested separately: servers delete everything in such a request for good.
                let binned = paths.filter { PydioRecycleBin.holds($0.path) }
                let others = paths.filter { !PydioRecycleBin.holds($0.path) }
                for paths in [others, binned] where !paths.isEmpty {
                    try await workspace.client.deleteNodes(
                        DeleteNodesRequestParams(workspaceId: workspace.id, nodes: paths.map(\.path)))
                    for path in paths {
                        report.done(TransferRecord(kind: .removed, workspaceID: workspace.id, path: path.path))
                    }
                }
            }
            try report.end()
        }
    }
}
