import ArgumentParser
import CommandKit
import PydioSDK

struct PydioRemoveWorkspaceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-workspace", abstract: "Delete a workspace; its files stay on the server's disk.",
        discussion: """
            Nobody can open the workspace any more, and its public links stop working. Asks for confirmation at the \
            terminal first. Without a terminal, use --force.

            Example:
              pusher-cli pydio admin remove-workspace sales --force
            """)

    @Argument(help: "The workspace: id, slug or label.")
    var workspace: String

    @Flag(help: "Do not ask for confirmation.")
    var force = false

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard force || TerminalQuestion.canBeAsked else {
            throw ValidationError("There is no terminal to ask on: --force deletes without asking.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.anyWorkspace(workspace)
            if !force {
                guard
                    try TerminalQuestion.isConfirmed(
                        "Delete the workspace \(workspace.info.label ?? workspace.name) (\(workspace.id))?")
                else {
                    StandardError.write("nothing is deleted")
                    return
                }
            }
            try await account.client.deleteWorkspace(workspaceId: workspace.id)
            AdministrationRecord(kind: .workspaceRemoved, workspaceID: workspace.id).write(json: json)
        }
    }
}
