import ArgumentParser
import CommandKit
import PydioSDK

struct PydioRemoveUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-user", abstract: "Delete a user.",
        discussion: """
            The user's public links stop working. Asks for confirmation at the terminal first. Without a terminal, use \
            --force.

            Example:
              pusher-cli pydio admin remove-user carol --force
            """)

    @OptionGroup var name: PydioUserArgument

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
            if !force {
                guard try TerminalQuestion.isConfirmed("Delete the user \(name.user) for good?") else {
                    StandardError.write("nothing is deleted")
                    return
                }
            }
            try await account.client.deleteUser(userId: name.user)
            AdministrationRecord(kind: .userRemoved, id: name.user).write(json: json)
        }
    }
}
