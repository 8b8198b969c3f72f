import ArgumentParser
import PydioSDK

struct PydioPermissionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chmod", abstract: "Change the permissions of files and folders on the server's disk.",
        usage: "pusher-cli pydio chmod <mode> <remote> ... [<options>]",
        discussion: """
            MODE is octal, such as 644. Fails with status 69 if the workspace is not on a file system.

            Example:
              pusher-cli pydio chmod 640 plans:/docs --recursive
            """)

    @Argument(help: "Octal digits.")
    var mode: String

    @OptionGroup var nodes: NodeOptions

    @Flag(name: .shortAndLong, help: "Also change everything in the folders.")
    var recursive = false

    /// The permissions as a number; `nil` if they are invalid.
    private var value: Int? {
        (3...4).contains(mode.count) && mode.allSatisfy { ("0"..."7").contains($0) } ? Int(mode, radix: 8) : nil
    }

    func validate() throws {
        guard value != nil else { throw ValidationError("MODE must be 3 or 4 octal digits, such as 644.") }
    }

    func run() async throws {
        guard let mode = value else { return }
        try await nodes.run { remote, workspace, report in
            try await workspace.client.chmod(
                workspaceId: workspace.id, nodes: [remote.path], mode: mode, isRecursive: recursive)
            report.done(TransferRecord(kind: .permitted, workspaceID: workspace.id, path: remote.path))
        }
    }
}
