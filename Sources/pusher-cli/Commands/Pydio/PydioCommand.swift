import ArgumentParser

struct PydioCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pydio", abstract: "Workspaces of a Pydio server: list, get, put, watch.",
        discussion: """
            login keeps what the other commands need in ~/.config/pusher-cli/pydio.json, which nobody else can read. REMOTE is \
            WORKSPACE:/path, and WORKSPACE: the top of one; WORKSPACE is an id, a slug or a label as workspaces shows it.

            Examples:
              pusher-cli pydio login https://example.org/pydio --user ada
              pusher-cli pydio put plan.pdf plans:/docs/
              pusher-cli pydio watch plans --json
            """,
        subcommands: [
            PydioLoginCommand.self, PydioLogoutCommand.self, PydioWorkspacesCommand.self, PydioListCommand.self,
            PydioGetCommand.self, PydioPutCommand.self, PydioMakeFolderCommand.self, PydioMoveCommand.self,
            PydioCopyCommand.self, PydioRemoveCommand.self, PydioWatchCommand.self,
        ])
}
