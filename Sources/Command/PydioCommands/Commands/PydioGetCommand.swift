import ArgumentParser
import CommandKit
import Foundation
import PydioSDK

struct PydioGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Download a file or a folder, and print where it is.",
        discussion: """
            Without LOCAL, the file is saved in the current folder under its own name. If the download of a large file \
            is interrupted, the part received so far stays next to it as a hidden file, and the same command resumes \
            it. With --recursive, a folder is downloaded with everything in it except the recycle bin; whatever cannot \
            be downloaded is reported, and the rest is still downloaded.

            With --verify, each file is compared with the MD5 that the server gives for it; a file that differs is \
            reported and kept, and the exit status is 65. If the server computes no MD5, nothing is downloaded, and \
            the exit status is 69.

            Examples:
              pusher-cli pydio get plans:/docs/plan.pdf
              pusher-cli pydio get plans:/docs ~/plans --recursive
              pusher-cli pydio get plans:/log.txt - | tail
            """)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remote: RemotePath

    @Argument(help: "Where to save it: a file, a folder, or - for standard output.", completion: .file())
    var local: String?

    @Flag(name: .shortAndLong, help: "Download a folder with everything in it.")
    var recursive = false

    @Flag(help: "Replace existing files.")
    var force = false

    @Flag(help: "Compare each file's MD5 with the one that the server computes.")
    var verify = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard local != "-" || (!recursive && !json) else {
            throw ValidationError("- takes one file, without --recursive or --json.")
        }
        guard local != "" else { throw ValidationError("LOCAL cannot be empty.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(remote.workspace)
            let report = TransferReport(json: json)
            let download = WorkspaceDownload(
                workspace: workspace, replaces: force, verifies: verify, report: report)
            if verify { try await workspace.requireContentHashes() }
            switch try await workspace.existingNode(at: remote.path) {
            case .file(let size, _):
                if local == "-" {
                    try await download.toStandardOutput(remote)
                } else {
                    try await download.file(remote.path, size: size, to: try target(in: workspace))
                }
            case .folder:
                guard recursive else {
                    throw CommandFailure(.badData, "\(remote) is a folder: --recursive downloads what is in it")
                }
                try await download.folder(remote.path, to: try target(in: workspace))
            }
            try report.end()
        }
    }

    /// Returns the local target: LOCAL itself, or the remote name within it if it is an existing folder.
    private func target(in workspace: PydioWorkspace) throws(CommandFailure) -> URL {
        let here = URL(filePath: local ?? FileManager.default.currentDirectoryPath)
        guard LocalNode.followed(here) == .folder else { return here }
        // The root of a workspace has no name of its own.
        let name = remote.isTop ? workspace.name : remote.name
        guard !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != "..", !name.isEmpty else {
            throw CommandFailure(.badData, "“\(name)” cannot be a file name here: give another name as LOCAL")
        }
        return here.appending(path: name, directoryHint: .notDirectory)
    }
}
