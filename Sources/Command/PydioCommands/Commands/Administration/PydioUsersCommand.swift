import ArgumentParser
import CommandKit
import PydioSDK

struct PydioUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "List all users of the server.",
        discussion: """
            Prints each with its display name, its group and its roles, and says who is an administrator, and who was \
            created by another user to share with.

            Example:
              pusher-cli pydio admin users --json
            """)

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func run() async throws {
        try await pydio.run { account in
            _ = output.write(try await account.client.users().map { AccountRecord(account: $0) })
        }
    }
}
