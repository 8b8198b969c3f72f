import ArgumentParser
import Foundation
import PydioSDK

struct PydioGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Download a file or a folder, and print where it is.",
        discussion: """
            Without LOCAL it comes into this folder under its own name. If it breaks off, what has come of a large file stays \
            beside it as a hidden part, and the same command goes on with it. With --recursive a folder comes with everything \
            in it, but for the recycle bin; what cannot be got is told, and the rest comes.

            Examples:
              pusher-cli pydio get plans:/docs/plan.pdf
              pusher-cli pydio get plans:/docs ~/plans --recursive
              pusher-cli pydio get plans:/log.txt - | tail
            """)

    @Argument(
        help: ArgumentHelp("What: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remote: RemotePath

    @Argument(help: "Where to: a file, a folder, or - for standard output.", completion: .file())
    var local: String?

    @Flag(name: .shortAndLong, help: "A folder, with everything in it.")
    var recursive = false

    @Flag(help: "Replace files that are there.")
    var force = false

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard local != "-" || (!recursive && !json) else {
            throw ValidationError("- takes one file, and neither --recursive nor --json.")
        }
        guard local != "" else { throw ValidationError("LOCAL cannot be empty.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(remote.workspace)
            let report = TransferReport(json: json)
            let download = WorkspaceDownload(workspace: workspace, replaces: force, report: report)
            switch try await workspace.existingNode(at: remote.path) {
            case .file(let size, _):
                if local == "-" {
                    try await copyToStandardOutput(of: workspace, report)
                } else {
                    try await download.file(remote.path, size: size, to: try target(in: workspace))
                }
            case .folder:
                guard recursive else {
                    throw CommandFailure(.badData, "\(remote) is a folder: --recursive gets what is in it")
                }
                try await download.folder(remote.path, to: try target(in: workspace))
            }
            try report.end()
        }
    }

    /// In a folder that is there under its own name, else what LOCAL says.
    private func target(in workspace: PydioWorkspace) throws(CommandFailure) -> URL {
        let here = URL(filePath: local ?? FileManager.default.currentDirectoryPath)
        guard LocalNode.followed(here) == .folder else { return here }
        // The top of a workspace has no name of its own.
        let name = remote.isTop ? workspace.name : remote.name
        guard !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != "..", !name.isEmpty else {
            throw CommandFailure(.badData, "“\(name)” cannot be a name here: give LOCAL another")
        }
        return here.appending(path: name, directoryHint: .notDirectory)
    }

    /// Through a file, so that what breaks off is not taken for the whole.
    private func copyToStandardOutput(of workspace: PydioWorkspace, _ report: TransferReport) async throws {
        let file = try await TemporaryFile.holding { part in
            try await workspace.client.downloadNodes(
                DownloadNodesRequestParams(workspaceId: workspace.id, nodes: [remote.path]), to: part,
                onProgress: report.progress(remote.name))
        }
        try report.end()
        try file.copyToStandardOutput()
    }
}
