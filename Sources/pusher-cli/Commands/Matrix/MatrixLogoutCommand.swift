import ArgumentParser
import MatrixSDK

struct MatrixLogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Invalidate the token, and delete it.",
        discussion: """
            A token that is no longer valid is deleted. If the homeserver cannot be reached, the token is kept.

            Example:
              pusher-cli matrix logout
            """)

    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        try await matrix.account().client.logout()
        try MatrixCredentialFile().remove()
    }
}
