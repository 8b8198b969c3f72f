import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixLogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Invalidate the token, and delete it and the stored rooms.",
        discussion: """
            A token that is no longer valid is deleted. If the homeserver cannot be reached, the token and the stored \
            rooms are kept.

            Examples:
              pusher-cli matrix logout
              pusher-cli matrix logout --user @bob:example.org
            """)

    @Option(
        help: ArgumentHelp("The account, if it was logged in with --add. Default: the first.", valueName: "user"))
    var user: String?

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        let account = try network.matrixAccount(of: user)
        try await account.client.logout()
        try account.removeLogin()
    }
}
