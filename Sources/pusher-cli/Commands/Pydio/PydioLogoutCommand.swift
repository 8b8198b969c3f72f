import ArgumentParser
import PydioSDK

struct PydioLogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the session, and delete what was kept.",
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
                StandardError.write("warning: the server was not told: \(error)")
            }
            try PydioLoginFile().remove(account.login)
            if account.login.keyPair != nil {
                StandardError.write("warning: the key pair stays valid at the server until the password is changed")
            }
        }
    }
}
