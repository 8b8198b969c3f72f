import ArgumentParser
import PydioSDK

struct PydioLogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the session, revoke the key pair, and delete what was kept.",
        discussion: """
            If the server cannot be reached, everything stays where it is, but with --force.

            Example:
              pusher-cli pydio logout --server example.org
            """)

    @Flag(help: "Delete what was kept also if the server cannot be told.")
    var force = false

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await ExitStatus.reporting {
            let account = try pydio.account()
            do {
                try await SignalWatch.finishing { try await account.client.logout() }
            } catch let error as PydioError where force || !error.isRetryable {
                let pair = account.login.keyPair == nil ? "" : ", where the key pair may stay valid"
                StandardError.write("warning: the server was not told\(pair): \(error)")
            }
            try PydioLoginFile().remove(account.login)
        }
    }
}
