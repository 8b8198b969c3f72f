import ArgumentParser
import CommandKit
import PydioSDK

struct PydioEmptyBinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "empty-bin", abstract: "Delete everything in a recycle bin for good.",
        discussion: """
            Asks for confirmation at the terminal first. Without a terminal, use --force.

            Example:
              pusher-cli pydio empty-bin plans --force
            """)

    @Argument(help: "The workspace: id, slug or label.")
    var workspace: String

    @Flag(help: "Do not ask for confirmation.")
    var force = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard force || TerminalQuestion.canBeAsked else {
            throw ValidationError("There is no terminal to ask on: --force empties the bin without asking.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(workspace)
            let entries = try await RecycleBin.of(workspace).entries()
            guard !entries.isEmpty else {
                StandardError.write("the recycle bin of \(workspace.name) is empty")
                return
            }
            if !force {
                let what = entries.count == 1 ? "the 1 entry" : "all \(entries.count) entries"
                guard
                    try TerminalQuestion.isConfirmed(
                        "Delete \(what) in the recycle bin of \(workspace.name) for good?")
                else {
                    StandardError.write("nothing is deleted")
                    return
                }
            }
            try await workspace.client.emptyRecycleBin(workspaceId: workspace.id)
            let report = TransferReport(json: json)
            for entry in entries {
                report.done(TransferRecord(kind: .removed, workspaceID: workspace.id, path: entry.path))
            }
            try report.end()
        }
    }
}
