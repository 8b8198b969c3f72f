import ArgumentParser
import CommandKit
import PydioSDK

struct PydioMakeFolderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mkdir", abstract: "Create folders.",
        discussion: """
            Example:
              pusher-cli pydio mkdir --parents plans:/docs/2026/may
            """)

    @Argument(
        help: ArgumentHelp("A folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remotes: [RemotePath]

    @Flag(name: .shortAndLong, help: "Create missing parent folders, too; a folder that exists is not an error.")
    var parents = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard parents || !remotes.contains(where: \.isTop) else {
            throw ValidationError("The top of a workspace already exists.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: json)
            for remote in remotes {
                let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                try await report.skipping("\(remote)") { try await make(remote, in: workspace, report) }
            }
            try report.end()
        }
    }

    private func make(_ remote: RemotePath, in workspace: PydioWorkspace, _ report: TransferReport) async throws {
        var made: RemotePath?
        for named in parents ? remote.ancestors + [remote] : [remote] {
            // The server may have given the parent folder another name.
            let folder = made.map { $0.appending(named.name) } ?? named
            if parents, let existing = try await existing(folder, in: workspace) {
                made = existing
                continue
            }
            let new = try await workspace.makeFolder(folder)
            report.tellName(of: new, insteadOf: folder)
            report.done(TransferRecord(kind: .created, workspaceID: workspace.id, path: new.path))
            made = new
        }
    }

    /// Finds the folder by its name, or by the one that the server makes of it.
    private func existing(_ folder: RemotePath, in workspace: PydioWorkspace) async throws -> RemotePath? {
        for path in folder.path == folder.stored.path ? [folder] : [folder, folder.stored] {
            guard let node = try await workspace.node(at: path.path) else { continue }
            guard node == .folder else { throw CommandFailure(.badData, "\(path) exists and is not a folder") }
            return path
        }
        return nil
    }
}
