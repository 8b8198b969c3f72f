import ArgumentParser
import PydioSDK

struct PydioCompressCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compress", abstract: "Make a zip archive of files and folders, on the server.",
        usage: "pusher-cli pydio compress <source> ... <archive> [<options>]",
        discussion: """
            The sources and the archive must be in the same folder, and ARCHIVE must end with .zip. An existing file \
            is never replaced. A server of version 7 or later may still be working when the command ends; the exit \
            status is then 69.

            Example:
              pusher-cli pydio compress plans:/docs plans:/plan.pdf plans:/all.zip
            """)

    @Argument(
        help: ArgumentHelp("The sources, then the archive: WORKSPACE:/path.", valueName: "source ... archive"),
        transform: { try RemotePath($0) })
    var paths: [RemotePath]

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard paths.count > 1, let archive = paths.last else { throw ValidationError("Give a source and an archive.") }
        guard archive.name.lowercased().hasSuffix(".zip") else { throw ValidationError("ARCHIVE must end with .zip.") }
        guard !paths.contains(where: \.isTop), Set(paths.map(\.parent)).count == 1 else {
            throw ValidationError("The sources and the archive must be in one folder.")
        }
    }

    func run() async throws {
        guard let archive = paths.last else { return }
        try await pydio.run { account in
            let workspace = try await account.workspace(archive.workspace)
            let sources = paths.dropLast()
            for source in sources { _ = try await workspace.existingNode(at: source.path) }
            let path = try await workspace.client.compress(
                workspaceId: workspace.id, nodes: sources.map(\.path), to: archive.path)
            let report = TransferReport(json: json)
            report.done(
                TransferRecord(kind: .compressed, workspaceID: workspace.id, path: path), workspace.remote(path))
            try report.end()
        }
    }
}
