import ArgumentParser
import CommandKit
import PydioSDK

struct PydioAdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "Administer a server: users, rights, workspaces.",
        discussion: """
            Your account must be an administrator of the server; otherwise every command exits with 77 before anything \
            is changed. USER is the name that the user logs in with.

            Examples:
              pusher-cli pydio admin users --json
              pusher-cli pydio admin add-user carol --password-stdin < password
              pusher-cli pydio admin grant carol plans read-write
            """,
        subcommands: [
            PydioUsersCommand.self, PydioAddUserCommand.self, PydioChangeUserCommand.self, PydioRemoveUserCommand.self,
            PydioGrantCommand.self, PydioAllWorkspacesCommand.self, PydioAddWorkspaceCommand.self,
            PydioRemoveWorkspaceCommand.self,
        ])
}

/// A user name, as an argument.
struct PydioUserArgument: ParsableArguments {
    @Argument(help: "The name that the user logs in with.")
    var user: String

    func validate() throws {
        guard !user.isEmpty else { throw ValidationError("A user's name cannot be empty.") }
    }
}

/// A new password for another user.
struct NewPasswordOption: ParsableArguments {
    @Flag(help: "Read the user's password from standard input. Without it, asks for it at the terminal, twice.")
    var passwordStdin = false

    func password(of user: String) throws(CommandFailure) -> String {
        guard
            let password = passwordStdin
                ? try SecretInput.fromStandardInput("password")
                : try SecretInput.typedTwice("Password for \(user): ")
        else { throw CommandFailure(.interrupted, "interrupted: nothing is changed") }
        return password
    }
}

extension PydioAccount {
    /// Returns the server's workspace with this name, even if the user may not open it.
    func anyWorkspace(_ name: String) async throws -> PydioWorkspace {
        try PydioWorkspace.named(name, among: try await client.listAllWorkspaces().map { PydioWorkspace($0, client) })
    }
}
