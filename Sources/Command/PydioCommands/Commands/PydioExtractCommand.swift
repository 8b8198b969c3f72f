import ArgumentParser
import CommandKit
import PydioSDK

struct PydioExtractCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extract", abstract: "Unpack a zip archive, on the server, and print what was in it.",
        discussion: """
            Unpacks into FOLDER, or next to the archive. If a file or folder there has the name of one in the archive, \
            nothing is unpacked.

            Examples:
              pusher-cli pydio extract plans:/all.zip
              pusher-cli pydio extract plans:/all.zip plans:/docs/
            """)

    @Argument(
        help: ArgumentHelp("A zip archive: WORKSPACE:/path.", valueName: "archive"), transform: { try RemotePath($0) })
    var archive: RemotePath

    @Argument(
        help: ArgumentHelp("A folder of the same workspace. Default: the archive's.", valueName: "folder"),
        transform: { try RemotePath($0) })
    var folder: RemotePath?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard archive.name.lowercased().hasSuffix(".zip") else { throw ValidationError("ARCHIVE must end with .zip.") }
        guard folder.map({ $0.workspace == archive.workspace }) ?? true else {
            throw ValidationError("ARCHIVE and FOLDER must be in one workspace.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(archive.workspace)
            let target = folder ?? archive.parent
            guard try await !workspace.existingNode(at: archive.path).isFolder else {
                throw CommandFailure(.badData, "\(archive) is a folder")
            }
            guard try await workspace.node(at: target.path) == .folder else {
                throw CommandFailure(.badData, "there is no folder \(target)")
            }
            let paths = try await workspace.client.extract(
                workspaceId: workspace.id, archive: archive.path, into: target.path)
            let report = TransferReport(json: json)
            for path in paths {
                report.done(
                    TransferRecord(kind: .extracted, workspaceID: workspace.id, path: path, from: archive.path),
                    workspace.remote(path))
            }
            try report.end()
        }
    }
}
