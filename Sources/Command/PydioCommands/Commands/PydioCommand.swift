import ArgumentParser

struct PydioCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pydio", abstract: "Workspaces of a Pydio server: list, get, put, share, watch.",
        discussion: """
            login saves what the other commands need in ~/.config/pusher-cli/pydio.json, which only you can read. \
            REMOTE is WORKSPACE:/path; WORKSPACE: alone is the top of a workspace. WORKSPACE is an id, a slug or a \
            label, as workspaces lists them.

            Works with Pydio 5.2 to 8. Pydio Cells shares the name, but is a different product with a different API.

            Examples:
              pusher-cli pydio login https://example.org/pydio --user ada
              pusher-cli pydio put plan.pdf plans:/docs/
              pusher-cli pydio watch plans --json
            """,
        subcommands: [
            PydioLoginCommand.self, PydioLogoutCommand.self, PydioPasswordCommand.self, PydioWorkspacesCommand.self,
            PydioListCommand.self, PydioCatCommand.self, PydioGetCommand.self, PydioPutCommand.self,
            PydioMakeFolderCommand.self,
            PydioMoveCommand.self, PydioCopyCommand.self, PydioRemoveCommand.self, PydioRestoreCommand.self,
            PydioEmptyBinCommand.self, PydioShareCommand.self, PydioLinksCommand.self, PydioUnshareCommand.self,
            PydioBookmarksCommand.self,
            PydioChangesCommand.self, PydioWatchCommand.self, PydioSearchCommand.self, PydioStatCommand.self,
            PydioQuotaCommand.self, PydioCompressCommand.self, PydioExtractCommand.self, PydioMetadataCommand.self,
            PydioCommentsCommand.self, PydioLockCommand.self, PydioUnlockCommand.self, PydioNotifyCommand.self,
            PydioFeedCommand.self, PydioPermissionsCommand.self, PydioPurgeCommand.self,
            PydioSyncCommand.self, PydioAPICommand.self, PydioAdminCommand.self,
        ])
}
