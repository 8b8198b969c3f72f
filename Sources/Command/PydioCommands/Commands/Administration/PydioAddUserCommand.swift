import ArgumentParser
import PydioSDK

struct PydioAddUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-user", abstract: "Create a user.",
        discussion: """
            The user gets the rights that all users have; to give more, use grant and change-user.

            Examples:
              pusher-cli pydio admin add-user carol
              pusher-cli pydio admin add-user carol --password-stdin < password
            """)

    @OptionGroup var name: PydioUserArgument

    @OptionGroup var secret: NewPasswordOption

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            try await account.client.createUser(userId: name.user, password: try secret.password(of: name.user))
            AdministrationRecord(kind: .userAdded, id: name.user).write(json: json)
        }
    }
}
