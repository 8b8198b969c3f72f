import ArgumentParser
import CommandKit
import PydioSDK

struct PydioMetadataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "meta", abstract: "Print the metadata of a file or folder, or change it.",
        usage: "pusher-cli pydio meta <remote> [<field=value> ...] [<options>]",
        discussion: """
            An administrator defines the fields of a workspace. Each is printed with its name, its label and its \
            value. FIELD=VALUE sets a field and FIELD= clears it; the others keep their values. Fails with status 69 \
            if the server has no metadata.

            Examples:
              pusher-cli pydio meta plans:/plan.pdf
              pusher-cli pydio meta plans:/plan.pdf tags=roof,draft
            """)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remote: RemotePath

    @Argument(help: ArgumentHelp("A field and its new value.", valueName: "field=value"))
    var values: [String] = []

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    private var changes: [String: String] {
        get throws {
            var changes: [String: String] = [:]
            for text in values {
                let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, !parts[0].isEmpty else {
                    throw ValidationError("\(TerminalText(text).text) is not FIELD=VALUE.")
                }
                guard changes.updateValue(parts[1], forKey: parts[0]) == nil else {
                    throw ValidationError("\(TerminalText(parts[0]).text) is given twice.")
                }
            }
            return changes
        }
    }

    func validate() throws {
        guard !remote.isTop else { throw ValidationError("A workspace as a whole has no metadata.") }
        _ = try changes
    }

    func run() async throws {
        let changes = try changes
        try await pydio.run { account in
            let workspace = try await account.workspace(remote.workspace)
            if !changes.isEmpty {
                try await workspace.client.setMetadata(workspaceId: workspace.id, path: remote.path, values: changes)
            }
            let fields = try await workspace.listedNode(at: remote).metadataFields
            guard !fields.isEmpty else {
                throw CommandFailure(
                    .unavailable,
                    "the server does not offer metadata in \(workspace.name): it needs the plugin meta.user")
            }
            _ = output.write(fields.map { MetadataRecord(field: $0, path: remote.path, workspace: workspace) })
        }
    }
}
