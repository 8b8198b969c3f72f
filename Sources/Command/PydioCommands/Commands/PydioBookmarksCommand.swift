import ArgumentParser
import Basics
import CommandKit
import PydioSDK

struct PydioBookmarksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bookmarks",
        abstract: "List your bookmarks with their paths and names, or add and remove them.",
        discussion: """
            Removing a bookmark leaves the file or folder where it is.

            Examples:
              pusher-cli pydio bookmarks plans --json
              pusher-cli pydio bookmarks --add plans:/docs --add plans:/plan.pdf
              pusher-cli pydio bookmarks --remove plans:/docs
            """)

    @Argument(help: "The workspace whose bookmarks to list: id, slug or label. Default: all workspaces.")
    var workspace: String?

    @Option(
        help: ArgumentHelp("Add a bookmark of this file or folder. May be repeated.", valueName: "remote"),
        transform: { try RemotePath($0) })
    var add: [RemotePath] = []

    @Option(
        help: ArgumentHelp("Remove the bookmark of this file or folder. May be repeated.", valueName: "remote"),
        transform: { try RemotePath($0) })
    var remove: [RemotePath] = []

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard workspace == nil || (add.isEmpty && remove.isEmpty) else {
            throw ValidationError("WORKSPACE is only for listing: --add and --remove name it in their paths.")
        }
        guard Set(add).isDisjoint(with: remove) else {
            throw ValidationError("The same bookmark cannot be added and removed.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspaces = try await account.workspaces()
            let report = TransferReport(json: output.json)
            if add.isEmpty, remove.isEmpty {
                let listed = try workspace.map { [try PydioWorkspace.named($0, among: workspaces)] } ?? workspaces
                try await list(listed, report)
            }
            for remote in add {
                try await report.trying("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    try await add(remote, in: workspace, report)
                }
            }
            for remote in remove {
                try await report.trying("\(remote)") {
                    let workspace = try PydioWorkspace.named(remote.workspace, among: workspaces)
                    try await remove(remote, in: workspace, report)
                }
            }
            try report.end()
        }
    }

    private func list(_ workspaces: [PydioWorkspace], _ report: TransferReport) async throws {
        var records: [BookmarkRecord] = []
        // List the bookmarks of all workspaces that answered, even if a later one fails.
        defer { _ = output.write(records, none: "there are no bookmarks") }
        for workspace in workspaces {
            try await report.trying(workspace.name) {
                records += try await workspace.client.bookmarks(workspaceId: workspace.id)
                    .map { BookmarkRecord(bookmark: $0, workspace: workspace) }
            }
        }
    }

    private func add(_ remote: RemotePath, in workspace: PydioWorkspace, _ report: TransferReport) async throws {
        _ = try await workspace.existingNode(at: remote.path)
        let title = remote.isTop ? workspace.info.label ?? workspace.name : remote.name
        try await workspace.client.addBookmark(workspaceId: workspace.id, path: remote.path, title: title)
        report.done(TransferRecord(kind: .bookmarked, workspaceID: workspace.id, path: remote.path))
    }

    private func remove(_ remote: RemotePath, in workspace: PydioWorkspace, _ report: TransferReport) async throws {
        // Servers do not report missing bookmarks.
        let bookmarks = try await workspace.client.bookmarks(workspaceId: workspace.id)
        let paths = bookmarks.map { BookmarkRecord(bookmark: $0, workspace: workspace).path }
        guard paths.contains(where: { $0.isExactly(remote.path) }) else {
            throw CommandFailure(.badData, "there is no bookmark of \(remote)")
        }
        try await workspace.client.deleteBookmark(workspaceId: workspace.id, path: remote.path)
        report.done(TransferRecord(kind: .unbookmarked, workspaceID: workspace.id, path: remote.path))
    }
}
