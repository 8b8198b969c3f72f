import ArgumentParser
import CommandKit
import PydioSDK

struct PydioChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes", abstract: "Print what has changed in a workspace: number, what, where.",
        discussion: """
            Reads the server's change log, which loses nothing while you are away. For each file or folder, prints \
            what has become of it, not each step.

            Changes are numbered. To continue from here next time, give the last number to --since. With --json, it is \
            last_sequence in the last object, {"type":"end","last_sequence":44}; otherwise it is at the end of the \
            last line on standard error, “last sequence: 44”. If the log has started over in the meantime, the command \
            warns you, in JSON with "reset":true. Changes may be missing then, so list the workspace.

            Examples:
              pusher-cli pydio changes plans --since 44
              pusher-cli pydio changes plans --json | tail -1 | jq .last_sequence
            """)

    @Argument(help: "The workspace: id, slug or label.")
    var workspace: String

    @Option(help: ArgumentHelp("Only print changes after this number; 0 is the start of the log.", valueName: "n"))
    var since: Int64 = 0

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard since >= 0 else { throw ValidationError("--since must be 0 or more.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(workspace)
            let log = try await workspace.changes(since: since)
            guard output.write(log.changes.map { ChangeRecord(change: $0, workspaceID: workspace.id) }) else { return }
            // A consumer may continue from there only if it has all entries.
            if output.json {
                _ = StandardOutput.write(json: ChangeRecord.end(of: log, workspaceID: workspace.id))
            } else {
                try StandardOutput.requireTaken()
                if log.isReset {
                    StandardError.write(
                        "warning: the server's log has started over; list \(workspace.name), and continue from its end")
                }
                StandardError.write("last sequence: \(log.lastSequence)")
            }
        }
    }
}
