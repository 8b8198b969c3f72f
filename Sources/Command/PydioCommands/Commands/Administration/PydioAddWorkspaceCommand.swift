import ArgumentParser
import CommandKit
import PydioSDK

struct PydioAddWorkspaceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-workspace", abstract: "Create a workspace, and print its id.",
        discussion: """
            Its files are kept in a folder on the server's disk, unless you name another driver. You may do everything \
            in it; give rights to others with grant, or to all with --rights.

            Examples:
              pusher-cli pydio admin add-workspace Sales --path /srv/pydio/sales
              pusher-cli pydio admin add-workspace Notes --path AJXP_DATA_PATH/notes \\
                --slug notes --rights read
            """)

    @Argument(help: "Its name for people.")
    var label: String

    @Option(help: "The folder on the server where its files are kept.")
    var path: String

    @Option(help: "Its name in paths and addresses. Default: what the server makes of the label.")
    var slug: String?

    @Option(help: "What it is for.")
    var description = ""

    @Option(help: "The storage driver: the id of the server's plugin, without access. at its start.")
    var driver = "fs"

    @Flag(name: .customLong("no-create"), help: "Do not create the folder: it must exist.")
    var needsFolder = false

    @Flag(name: .customLong("no-recycle-bin"), help: "Delete files for good, not into a recycle bin.")
    var hasNoBin = false

    @Option(help: "What all users may do in it.")
    var rights = PydioGrantCommand.Rights.none

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        for (name, value) in [("LABEL", label), ("--path", path), ("--driver", driver), ("--slug", slug ?? "x")] {
            guard !value.allSatisfy(\.isWhitespace) else { throw ValidationError("\(name) cannot be empty.") }
        }
    }

    func run() async throws {
        var params = CreateWorkspaceRequestParams(label: label, path: path)
        (params.slug, params.summary, params.driver) = (slug, description, driver)
        (params.createsFolder, params.defaultRights) = (!needsFolder, rights.rights)
        if hasNoBin { params.recycleBin = nil }
        try await pydio.run { [params] account in
            guard let id = try await account.client.createWorkspace(params) else {
                throw CommandFailure(
                    .unavailable, "the workspace is created, but the server does not tell its id: admin workspaces does"
                )
            }
            let record = AdministrationRecord(kind: .workspaceAdded, workspaceID: id)
            if json { record.write(json: true) } else { _ = StandardOutput.write(TerminalText(id)) }
        }
    }
}
