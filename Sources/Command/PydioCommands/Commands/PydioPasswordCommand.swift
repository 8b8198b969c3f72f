import ArgumentParser
import CommandKit
import PydioSDK

struct PydioPasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd", abstract: "Change your password on the server.",
        discussion: """
            Asks for the old password, and twice for the new one. What login saved is renewed. Key pairs of other \
            devices stop working: log in there again.

            Examples:
              pusher-cli pydio passwd
              pusher-cli pydio passwd --server example.org --password-stdin < old-and-new
            """)

    @Flag(help: "Read the old and the new password from standard input, one per line.")
    var passwordStdin = false

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            guard let (old, new) = try passwords(of: account.login.user) else {
                throw CommandFailure(.interrupted, "interrupted: the password is not changed")
            }
            try await account.client.changePassword(from: old, to: new)
            try await account.keepPassword(new)
            StandardError.write("the password of \(account.login.user) is changed")
        }
    }

    /// Returns `nil` if interrupted.
    private func passwords(of user: String) throws(CommandFailure) -> (old: String, new: String)? {
        if passwordStdin { return try SecretInput.oldAndNewFromStandardInput() }
        guard let old = try SecretInput.typed("Password of \(user) until now: "),
            let new = try SecretInput.typedTwice("New password: ")
        else { return nil }
        return (old, new)
    }
}
