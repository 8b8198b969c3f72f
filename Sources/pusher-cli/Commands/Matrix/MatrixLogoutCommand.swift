import ArgumentParser
import MatrixSDK

struct MatrixLogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Invalidate the token, and delete it and the stored rooms.",
        discussion: """
            A token that is no longer valid is deleted. If the homeserver cannot be reached, the token and the stored \
            rooms are kept.

            Example:
              pusher-cli matrix logout
            """)

    @OptionGroup var matrix: MatrixOptions

    func run() async throws {
        let account = try matrix.account()
        let token = account.client.credentials?.accessToken
        try await account.client.logout()
        try MatrixCredentialFile().remove(token) { () throws(MatrixError) in try account.store.delete() }
    }
}
