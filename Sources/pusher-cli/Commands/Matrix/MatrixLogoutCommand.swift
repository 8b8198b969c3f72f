import ArgumentParser
import MatrixSDK

struct MatrixLogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Make the token worthless, and delete it.",
        discussion: """
            A token that is dead already is deleted. If the homeserver cannot be reached, the token stays where it is.

            Example:
              pusher-cli matrix logout
            """)

    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        try await ExitStatus.reporting {
            try await matrix.account().client.logout()
            try MatrixCredentialFile().remove()
        }
    }
}
