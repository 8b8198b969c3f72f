import ArgumentParser
import CommandKit
import PydioSDK

struct PydioLogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the session, revoke the key pair, and delete the saved login.",
        discussion: """
            If the server cannot be reached, nothing is deleted unless you use --force.

            Example:
              pusher-cli pydio logout --server example.org
            """)

    @Flag(help: "Delete the saved login even if the server cannot be told.")
    var force = false

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        let account = try pydio.account()
        do {
            try await account.client.logout()
        } catch let error as PydioError where error.code != .cancelled && (force || !error.isRetryable) {
            let pair = account.login.keyPair == nil ? "" : "; the key pair may stay valid there"
            StandardError.write("warning: the server was not told\(pair): \(error)")
        }
        try PydioLoginFile().remove(account.login)
    }
}
